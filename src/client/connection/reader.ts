import { setMaxListeners } from 'node:events';
import { isFor, type LogEvent } from '../../envelope/calls.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import { MAX_RECEIVE_AGENTS, MAX_RECEIVE_EVENTS, MAX_WAIT_SECONDS } from '../../envelope/limits.ts';
import { isolated } from '../isolated.ts';
import { classify } from '../transport/faults.ts';
import { backoff, jittered, pause, until } from '../timing/timing.ts';
import type { Page, Transport } from '../transport/transport.ts';

/** What cannot mend by itself is warned of at first, and then about once a minute. */
const FAILURES_A_WARNING = 75;
/** How long a reader polls instead of waiting once there were too many callers, and how often. */
const CONTENDED_MS = 60_000;
const POLL_MS = 1_500;
const MAX_POLL_MS = 12_000;
/** A pause shorter than this is asked for by a workflow that hands over, not by one that has too many readers. */
const CONTENDED_RETRY_SECONDS = 0.2;

/** Somebody of this process who reads a log. */
export interface Listener {
  /** For whom it reads; `*` for everything. */
  readonly agent: string;
  /** Only events of these types; default all. */
  readonly types?: readonly string[];
  /** What it throws is a warning of the process, and reading goes on with the next event. */
  readonly onEvent: (event: LogEvent) => void;
  /** Events before, or in between, are not delivered: read `view`. Also called at the start of a reading from now on. */
  readonly onGap: () => void;
}

interface Cursor extends Listener {
  /** The last number that it has passed; -1 until it is known where the present is. */
  after: number;
}

/**
 * One process's view of one workflow's log: one `receive` in flight for all its agents. Who is behind the others reads
 * alone until it has caught up. It goes on after whatever interrupts it, from where it was.
 */
export class Reader {
  readonly #transport: Transport;
  readonly #workflowId: string;
  readonly #name: string;
  readonly #cursors = new Set<Cursor>();
  readonly #onIdle: () => void;
  readonly #closed: AbortSignal;
  #after = -1;
  #running = false;
  #failing = false;
  /** Until then, by `performance.now()`, this reader takes no place among the updates in flight for longer than it must. */
  #contendedUntil = Number.NEGATIVE_INFINITY;
  #pollMs = POLL_MS;
  /** Fires when there is a new listener, or none, or the workflow has answered. */
  #interrupt = new AbortController();

  /** @param closed fires when there is nothing to be read any more, ever. */
  constructor(transport: Transport, workflowId: string, name: string, closed: AbortSignal, onIdle: () => void) {
    this.#transport = transport;
    this.#workflowId = workflowId;
    this.#name = name;
    this.#closed = closed;
    this.#onIdle = onIdle;
  }

  /** Whether it can read for one more. */
  get hasRoom(): boolean {
    return this.#cursors.size < MAX_RECEIVE_AGENTS;
  }

  /** Reads for a listener from `after` on (-1: from now on), until the returned function is called. */
  listen(listener: Listener, after: number = -1): () => void {
    const cursor: Cursor = {
      ...listener,
      onEvent: isolated('onEvent', listener.onEvent),
      onGap: isolated('onGap', listener.onGap),
      after,
    };
    this.#cursors.add(cursor);
    if (this.#running) this.#interrupt.abort();
    else void this.#run();
    return () => {
      this.#cursors.delete(cursor);
      if (this.#cursors.size === 0) this.#interrupt.abort();
    };
  }

  /** The workflow has more callers than its server allows: for a while this reader polls instead of waiting, at least at that pause. */
  contend(pauseSeconds: number = 0): void {
    const now = performance.now();
    // A server that refuses one update loses others with it, for seconds: each time it happens this reader polls half as often.
    const again = now < this.#contendedUntil;
    const known = this.#contendedUntil - CONTENDED_MS + POLL_MS > now;
    if (known && again) return;
    this.#pollMs = Math.max(again ? Math.min(this.#pollMs * 2, MAX_POLL_MS) : POLL_MS, pauseSeconds * 1000);
    this.#contendedUntil = now + CONTENDED_MS;
  }

  /** The workflow has just answered: a pause after a failure ends. */
  hurry(): void {
    if (this.#failing) this.#interrupt.abort();
  }

  async #run(): Promise<void> {
    this.#running = true;
    const end = (): void => this.#interrupt.abort();
    // Only while it reads: a process reads many workflows, and would keep a listener for each.
    this.#closed.addEventListener('abort', end, { once: true });
    for (let failures = 0; this.#cursors.size > 0 && !this.#closed.aborted;) {
      this.#interrupt = new AbortController();
      // Each page of the past that is read listens to it once: Node would warn of a leak after ten.
      setMaxListeners(0, this.#interrupt.signal);
      try {
        await this.#begin();
        await this.#catchUp();
        await this.#together();
        failures = 0;
      } catch (error) {
        const fault = classify(error);
        if (fault.kind === 'retry' && fault.contended) this.contend();
        // A workflow that is not there yet, or not there any more, may come: a room is started by its first message.
        if (fault.kind === 'fatal' && failures % FAILURES_A_WARNING === 0) {
          process.emitWarning(`synod: reading ${this.#workflowId} failed: ${String(fault.error)}`);
        }
        this.#failing = true;
        await pause(backoff(failures++, fault.kind === 'retry' && fault.contended), this.#interrupt.signal);
        this.#failing = false;
      }
    }
    this.#closed.removeEventListener('abort', end);
    this.#running = false;
    this.#onIdle();
  }

  async #catchUp(): Promise<void> {
    for (const cursor of this.#cursors) {
      while (this.#cursors.has(cursor) && cursor.after >= 0 && this.#after >= 0 && cursor.after < this.#after) {
        this.#deliver([cursor], cursor.after, await this.#receive([cursor], cursor.after, 0));
      }
    }
  }

  /** Finds out where the present is, for those who read from now on: what came before is a gap to them. */
  async #begin(): Promise<void> {
    if (this.#after < 0) {
      const known = [...this.#cursors].map(({ after }) => after).filter((after) => after >= 0);
      this.#after = known.length > 0 ? Math.min(...known) : (await this.#receive([], -1, 0)).next;
    }
    for (const cursor of this.#cursors) {
      if (cursor.after >= 0) continue;
      cursor.after = this.#after;
      cursor.onGap();
    }
  }

  async #together(): Promise<void> {
    const cursors = [...this.#cursors];
    const after = this.#after;
    const { signal } = this.#interrupt;
    const contended = performance.now() < this.#contendedUntil;
    const answer = await until(this.#receive(cursors, after, contended ? 0 : MAX_WAIT_SECONDS), signal);
    if (!answer) return;
    this.#after = Math.max(this.#after, answer.next);
    if (answer.truncated && answer.next < after) this.#after = answer.next;
    this.#deliver(cursors, after, answer);
    const { retry_after_seconds: pauseSeconds } = answer;
    if (pauseSeconds !== undefined && pauseSeconds >= CONTENDED_RETRY_SECONDS) this.contend(pauseSeconds);
    if (pauseSeconds !== undefined) await pause(jittered(pauseSeconds * 1000), signal);
    else if (contended && answer.events.length === 0) await pause(jittered(this.#pollMs), signal);
  }

  #deliver(cursors: readonly Cursor[], from: number, answer: Page): void {
    for (const cursor of cursors) {
      // One that is behind this answer catches up alone; one that is ahead of a lost server's log starts over with it.
      if (cursor.after < from) continue;
      if (answer.truncated) cursor.onGap();
      const passed = answer.next < from ? -1 : cursor.after;
      for (const event of answer.events) {
        // Its callback may have ended its reading.
        if (!this.#cursors.has(cursor)) break;
        if (event.seq > passed && isForCursor(event.envelope, cursor)) cursor.onEvent(event);
      }
      cursor.after = answer.truncated ? answer.next : Math.max(cursor.after, answer.next);
    }
  }

  async #receive(cursors: readonly Cursor[], after: number, waitSeconds: number): Promise<Page> {
    const agents = [...new Set(cursors.map(({ agent }) => agent))];
    const types = typesOf(cursors);
    const args = {
      reader: waitSeconds > 0 ? this.#name : `${this.#name}:past`,
      agents,
      ...(types ? { types } : {}),
      after,
      wait_seconds: waitSeconds,
      limit: MAX_RECEIVE_EVENTS,
    };
    const { signal } = this.#interrupt;
    // A call that does not wait is no part of the reading.
    if (waitSeconds === 0) return await this.#transport.receive(this.#workflowId, args, signal);
    return await this.#transport.next(this.#workflowId, args, signal);
  }
}

/** What all of them together want; undefined where one wants everything. */
function typesOf(cursors: readonly Cursor[]): string[] | undefined {
  const wanted = new Set<string>();
  for (const { types } of cursors) {
    if (!types) return undefined;
    for (const type of types) wanted.add(type);
  }
  return wanted.size > 0 ? [...wanted] : undefined;
}

function isForCursor(envelope: Envelope, { agent, types }: Cursor): boolean {
  return isFor(envelope, { has: (name) => name === agent }, types && { has: (type) => types.includes(type) });
}
