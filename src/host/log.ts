import { isFor, type LogEvent } from '../envelope/calls.ts';
import type { Envelope } from '../envelope/envelope.ts';
import { MAX_LOG_BYTES, MAX_LOG_ENTRIES, utf8Bytes } from '../envelope/limits.ts';

/** What a log's reader gets: the events for it, where to go on, and whether some were no longer kept. */
export interface Page {
  readonly events: readonly LogEvent[];
  readonly next: number;
  readonly truncated: boolean;
}

export interface LogSnapshot {
  readonly head: number;
  readonly events: readonly LogEvent[];
}

/** The ordered log of a workflow: numbered from 1 without gaps, the oldest entries evicted at its bounds. */
export class Log {
  #events: LogEvent[] = [];
  #sizes: number[] = [];
  #bytes = 0;
  #head = 0;
  #retain: number;

  constructor(retain: number = MAX_LOG_ENTRIES, snapshot?: LogSnapshot) {
    this.#retain = retain;
    if (!snapshot) return;
    for (const event of snapshot.events) this.#keep(event);
    this.#head = snapshot.head;
  }

  /** The last number given, 0 before the first. */
  get head(): number {
    return this.#head;
  }

  /** How many entries and bytes are kept. */
  get kept(): { entries: number; bytes: number } {
    return { entries: this.#events.length, bytes: this.#bytes };
  }

  /** How many entries to keep; undefined for the contract's bound. */
  set retain(entries: number | undefined) {
    this.#retain = entries ?? MAX_LOG_ENTRIES;
    this.#shrink();
  }

  /** The number that the next entry gets. */
  get nextSeq(): number {
    return this.#head + 1;
  }

  append(envelope: Envelope): LogEvent {
    this.#head += 1;
    const event: LogEvent = { seq: this.#head, envelope };
    this.#keep(event);
    this.#shrink();
    return event;
  }

  /** The events after `after` that are for `agents`, at most `limit`; passes over others' events, never over an undelivered one. */
  read(after: number, agents: ReadonlySet<string>, limit: number, types?: ReadonlySet<string>): Page {
    if (after > this.#head) return { events: [], next: this.#head, truncated: true };
    const first = this.#head - this.#events.length;
    const events: LogEvent[] = [];
    for (let i = Math.max(0, after - first); i < this.#events.length; i++) {
      const event = this.#events[i];
      if (!event || !isFor(event.envelope, agents, types)) continue;
      // One more that fits no longer is left for the next call.
      if (events.length === limit) return { events, next: event.seq - 1, truncated: after < first };
      events.push(event);
    }
    return { events, next: this.#head, truncated: after < first };
  }

  snapshot(): LogSnapshot {
    return { head: this.#head, events: this.#events };
  }

  #keep(event: LogEvent): void {
    const size = utf8Bytes(JSON.stringify(event));
    this.#events.push(event);
    this.#sizes.push(size);
    this.#bytes += size;
  }

  #shrink(): void {
    while (this.#events.length > this.#retain || this.#bytes > MAX_LOG_BYTES) {
      this.#events.shift();
      this.#bytes -= this.#sizes.shift() ?? 0;
    }
  }
}
