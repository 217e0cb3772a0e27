import type { SharedConnection } from '../client/connection/sharedConnection.ts';
import { linked, unlessAborted } from '../client/timing/timing.ts';
import { EVERYONE, isFor, type LogEvent } from '../envelope/calls.ts';
import { MAX_LOG_BYTES, MAX_LOG_ENTRIES, utf8Bytes } from '../envelope/limits.ts';
import { Problem, unavailable } from './errors.ts';

/** A log is kept this long after its last reader, in milliseconds: who polls comes back. */
const IDLE_MS = 60_000;
/** What an agent of this process knows to be logged should be here within this time, in milliseconds; else the log is asked for its end. */
const KNOWN_EVENTS_MS = 2_000;

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
  #notifying = false;
  /** The first look-up, once it was asked for; a failed one is made again. */
  #begun: Promise<void> | undefined;

  constructor(connection: SharedConnection, workflowId: string, onIdle: () => void) {
    this.#connection = connection;
    this.workflowId = workflowId;
    this.#onIdle = onIdle;
    const stop = connection
      .readerOf(workflowId)
      .listen({ agent: EVERYONE, onEvent: (event) => this.#take(event), onGap: () => undefined }, 0);
    this.#closing.signal.addEventListener('abort', stop, { once: true });
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

  /**
   * Resolves when all that was logged before the call, as far as this process knows, is here, or is known to be lost.
   * @throws Problem `unavailable` where that cannot be found out, also because the signal fires.
   */
  async ready(signal?: AbortSignal): Promise<void> {
    const end = linked([this.#closing.signal, signal]);
    try {
      await unlessAborted(this.#begin(), end.signal);
      while (this.head < this.#expected) await this.#catchUp(end.signal);
    } catch (cause) {
      throw this.#unknown(cause);
    } finally {
      end.release();
    }
  }

  /** Waits for what is known to be logged; asks where the log ends when it does not come. */
  async #catchUp(signal: AbortSignal): Promise<void> {
    const due = linked([signal], KNOWN_EVENTS_MS);
    await this.#reaches(this.#expected, due.signal);
    due.release();
    if (this.head >= this.#expected) return;
    const end = await this.#connection.end(this.workflowId, signal);
    // Lost: the log is not waited for past its end.
    this.#expected = Math.min(this.#expected, end?.head ?? 0);
  }

  /** A failed look-up says nothing of the log: whoever asked must come again. */
  #unknown(cause: unknown): Problem {
    if (cause instanceof Problem) return cause;
    return unavailable(`${this.workflowId} does not answer: come again`, {}, cause);
  }

  /** An agent of this process was answered that something is logged as `seq`: who reads next must not miss it. */
  expect(seq: number): void {
    this.#exists = true;
    this.#expected = Math.max(this.#expected, seq);
  }

  /**
   * How the log stands to what a reader says that it has read elsewhere: `reached`, and here; or `lost`, where the log ends before it.
   * @throws Problem `unavailable` where that cannot be found out: the reader must come again with the same number.
   */
  async covers(seq: number, signal: AbortSignal): Promise<'reached' | 'lost'> {
    if (seq <= this.head) return 'reached';
    const end = await this.#connection.end(this.workflowId, signal).catch((cause: unknown) => {
      throw this.#unknown(cause);
    });
    if (!end || end.head < seq) return 'lost';
    this.expect(seq);
    await this.ready(signal);
    return seq <= this.head ? 'reached' : 'lost';
  }

  /** The events after `after` that are for one of the agents, at most `limit`. */
  read(after: number, agents: ReadonlySet<string>, limit: number): FeedPage {
    const truncated = after < this.#before;
    const events: FeedEvent[] = [];
    for (let i = Math.max(0, after - this.#before); i < this.#events.length; i++) {
      const event = this.#events[i];
      if (!event || !isFor(event.envelope, agents)) continue;
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
    this.#notify();
    this.#onIdle();
  }

  async #reaches(seq: number, signal: AbortSignal): Promise<void> {
    while (this.head < seq && !signal.aborted) await this.changed(signal);
  }

  #begin(): Promise<void> {
    const begun = this.#begun ?? this.#lookUp();
    this.#begun = begun;
    begun.catch(() => {
      if (this.#begun === begun) this.#begun = undefined;
    });
    return begun;
  }

  async #lookUp(): Promise<void> {
    const end = await this.#connection.end(this.workflowId, this.#closing.signal);
    if (!end) return;
    this.#exists = true;
    this.#clockOffsetMs = Date.parse(end.now) - Date.now();
    await this.#reaches(end.head, this.#closing.signal);
    this.#closing.signal.throwIfAborted();
  }

  #take(event: LogEvent): void {
    this.#exists = true;
    // A log that starts over, or has a hole, is another one from there on: whoever was past it gets `truncated`.
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
    if (this.#notifying) return;
    // Once a page, not once an entry.
    this.#notifying = true;
    queueMicrotask(() => {
      this.#notifying = false;
      this.#notify();
    });
  }

  #restart(before: number): void {
    this.#events = [];
    this.#sizes = [];
    this.#bytes = 0;
    this.#before = before;
    this.#expected = 0;
  }

  #notify(): void {
    for (const watcher of this.#watchers) watcher();
  }
}
