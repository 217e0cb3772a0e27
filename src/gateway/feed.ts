import type { SharedConnection } from '../client/connection/sharedConnection.ts';
import { linked, until } from '../client/timing/timing.ts';
import { EVERYONE, type LogEvent } from '../envelope/calls.ts';
import { MAX_LOG_BYTES, MAX_LOG_ENTRIES, utf8Bytes } from '../envelope/limits.ts';

/** A log is kept this long after its last reader, in milliseconds: who polls comes back. */
const IDLE_MS = 60_000;
/** What an agent of this process was told is logged should be here within this time, in milliseconds; else it is asked for. */
const OWN_WORDS_MS = 2_000;

/** One entry, and what it is on the wire of a stream; made once for all streams. */
export interface FeedEvent extends LogEvent {
  readonly frame: Uint8Array;
}

export interface FeedPage {
  readonly events: readonly FeedEvent[];
  /** The next page's `after`. */
  readonly next: number;
  /** What came after `after` is not kept any more. */
  readonly truncated: boolean;
}

const encoder = new TextEncoder();

/**
 * A copy of one workflow's log, for all of this gateway's readers together: one `receive` on the workflow, however many they
 * are. It holds what the workflow holds, so that no reader, however far behind, costs the workflow anything.
 */
export class Feed {
  readonly workflowId: string;
  readonly #connection: SharedConnection;
  readonly #onIdle: () => void;
  readonly #watchers = new Set<() => void>();
  readonly #closing = new AbortController();
  #events: FeedEvent[] = [];
  #sizes: number[] = [];
  #bytes = 0;
  /** The last number before those that are kept. */
  #before = 0;
  #exists = false;
  #expected = 0;
  #clockOffsetMs = 0;
  #readers = 0;
  #idle: NodeJS.Timeout | undefined;
  #telling = false;
  readonly #ready: Promise<void>;

  constructor(connection: SharedConnection, workflowId: string, onIdle: () => void) {
    this.#connection = connection;
    this.workflowId = workflowId;
    this.#onIdle = onIdle;
    const stop = connection
      .readerOf(workflowId)
      .listen({ agent: EVERYONE, onEvent: (event) => this.#take(event), onGap: () => undefined }, 0);
    this.#closing.signal.addEventListener('abort', stop, { once: true });
    this.#ready = this.#begin();
  }

  /** Whether the workflow was ever met. */
  get exists(): boolean {
    return this.#exists;
  }

  get head(): number {
    return this.#before + this.#events.length;
  }

  /** Temporal's time as far as it is known here, in epoch milliseconds. */
  get now(): number {
    return Date.now() + this.#clockOffsetMs;
  }

  /** Resolves when all that was logged before the call, as far as this process knows, is here. */
  async ready(signal?: AbortSignal): Promise<void> {
    const end = signal ?? this.#closing.signal;
    await until(this.#ready, end);
    while (this.head < this.#expected && !end.aborted && !this.#closing.signal.aborted) {
      const due = linked([this.#closing.signal, signal], OWN_WORDS_MS);
      await this.#reaches(this.#expected, due.signal);
      due.release();
      if (this.head < this.#expected && !(await this.#stillHas(this.#expected, end))) return;
    }
  }

  /** Whether the workflow's log reaches so far: it was lost, or has closed, where it does not. */
  async #stillHas(seq: number, signal: AbortSignal): Promise<boolean> {
    const end = await this.#connection.end(this.workflowId, signal).catch(() => undefined);
    return end !== undefined && end.head >= seq;
  }

  /** An agent of this process was told that something is logged as `seq`: who reads next must not miss it. */
  expect(seq: number): void {
    this.#exists = true;
    this.#expected = Math.max(this.#expected, seq);
  }

  /** Waits for what a reader says that it has read elsewhere; false where the log does not reach so far: it was lost. */
  async covers(seq: number, signal: AbortSignal): Promise<boolean> {
    if (seq <= this.head) return true;
    if (!(await this.#stillHas(seq, signal))) return false;
    this.expect(seq);
    await this.ready(signal);
    return seq <= this.head;
  }

  /** The events after `after` that are for one of the agents, at most `limit`. */
  read(after: number, agents: ReadonlySet<string>, limit: number): FeedPage {
    const truncated = after < this.#before;
    const events: FeedEvent[] = [];
    for (let i = Math.max(0, after - this.#before); i < this.#events.length; i++) {
      const event = this.#events[i];
      if (!event || !isFor(event, agents)) continue;
      if (events.length === limit) return { events, next: event.seq - 1, truncated };
      events.push(event);
    }
    return { events, next: Math.max(after, this.head), truncated };
  }

  /** The number of the first kept message with this id. */
  seqOf(id: string): number | undefined {
    return this.#events.find(({ envelope }) => envelope.id === id)?.seq;
  }

  /** Calls back when something has come, until what is returned is called. */
  watch(onChange: () => void): () => void {
    this.#watchers.add(onChange);
    return () => this.#watchers.delete(onChange);
  }

  /** Resolves when something has come, or the signal fires. */
  async changed(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        unwatch();
        signal.removeEventListener('abort', done);
        resolve();
      };
      const unwatch = this.watch(done);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  /** Keeps it open until what is returned is called, and a while longer. */
  hold(): () => void {
    this.#readers += 1;
    clearTimeout(this.#idle);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#readers -= 1;
      if (this.#readers > 0) return;
      this.#idle = setTimeout(() => this.close(), IDLE_MS).unref();
    };
  }

  close(): void {
    clearTimeout(this.#idle);
    this.#closing.abort();
    this.#tell();
    this.#onIdle();
  }

  async #reaches(seq: number, signal: AbortSignal): Promise<void> {
    while (this.head < seq && !signal.aborted) await this.changed(signal);
  }

  async #begin(): Promise<void> {
    const end = await this.#connection.end(this.workflowId, this.#closing.signal).catch(() => undefined);
    if (!end) return;
    this.#exists = true;
    this.#clockOffsetMs = Date.parse(end.now) - Date.now();
    await this.#reaches(end.head, this.#closing.signal);
  }

  #take(event: LogEvent): void {
    this.#exists = true;
    // A log that starts over, or has a hole, is another one from there on: who was past it is told that it is truncated.
    if (event.seq !== this.head + 1) this.#restart(event.seq - 1);
    const json = JSON.stringify(event);
    const size = utf8Bytes(json);
    this.#events.push({ ...event, frame: encoder.encode(`id: ${event.seq}\ndata: ${json}\n\n`) });
    this.#sizes.push(size);
    this.#bytes += size;
    while (this.#events.length > MAX_LOG_ENTRIES || this.#bytes > MAX_LOG_BYTES) {
      this.#events.shift();
      this.#bytes -= this.#sizes.shift() ?? 0;
      this.#before += 1;
    }
    if (this.#telling) return;
    // A page is told once, not entry by entry.
    this.#telling = true;
    queueMicrotask(() => {
      this.#telling = false;
      this.#tell();
    });
  }

  #restart(before: number): void {
    this.#events = [];
    this.#sizes = [];
    this.#bytes = 0;
    this.#before = before;
    this.#expected = 0;
  }

  #tell(): void {
    for (const watcher of this.#watchers) watcher();
  }
}

function isFor({ envelope: { to } }: LogEvent, agents: ReadonlySet<string>): boolean {
  return to === undefined || agents.has(to) || agents.has(EVERYONE);
}
