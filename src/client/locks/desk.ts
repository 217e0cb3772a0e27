import type { LogEvent } from '../../envelope/calls.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';

/** A reader is kept for so long after it was needed last: who has waited for a lock often waits again. */
const LINGER_MS = 10_000;
/** Words about locks that nobody waits for yet: an event may overtake the answer that names its lock. */
const MAX_EARLY = 1_000;

/** What ends a wait or a hold. */
const WORDS = ['lock.granted', 'lock.denied', 'lock.cancelled', 'lock.expired', 'lock.released'];

type Hears = (word: Envelope) => void;

interface Ear {
  readonly stop: () => void;
  users: number;
  closing: NodeJS.Timeout | undefined;
}

/** Hears for all agents of a process what a lock manager says to them, and hands it to whoever waits for that lock. */
export class Desk {
  static readonly #desks = new WeakMap<SharedConnection, Map<string, Desk>>();

  readonly #connection: SharedConnection;
  readonly #workflowId: string;
  readonly #ears = new Map<string, Ear>();
  readonly #waiting = new Map<string, Set<Hears>>();
  readonly #early = new Map<string, Envelope>();
  /** Called where words may have been missed: each asks again what became of its own. */
  readonly #gaps = new Set<() => void>();

  private constructor(connection: SharedConnection, workflowId: string) {
    this.#connection = connection;
    this.#workflowId = workflowId;
  }

  static of(connection: SharedConnection, workflowId: string): Desk {
    const desks = Desk.#desks.get(connection) ?? new Map<string, Desk>();
    Desk.#desks.set(connection, desks);
    const desk = desks.get(workflowId) ?? new Desk(connection, workflowId);
    desks.set(workflowId, desk);
    return desk;
  }

  /**
   * Hears about one lock of one agent until the returned function is called.
   * @param after the number in the log from which on there may be something; what was heard already comes at once.
   * @param onGap words may have been missed.
   */
  hear(agent: string, lockId: string, after: number, onWord: Hears, onGap: () => void): () => void {
    const hearers = this.#waiting.get(lockId) ?? new Set();
    this.#waiting.set(lockId, hearers);
    hearers.add(onWord);
    this.#gaps.add(onGap);
    const ear = this.#ears.get(agent) ?? this.#listen(agent, after);
    ear.users += 1;
    clearTimeout(ear.closing);
    const early = this.#early.get(lockId);
    if (early && (early.seq ?? 0) > after) queueMicrotask(() => hearers.has(onWord) && onWord(early));
    return () => {
      hearers.delete(onWord);
      this.#gaps.delete(onGap);
      if (hearers.size === 0) this.#waiting.delete(lockId);
      ear.users -= 1;
      if (ear.users > 0) return;
      ear.closing = setTimeout(() => {
        ear.stop();
        if (this.#ears.get(agent) === ear) this.#ears.delete(agent);
      }, LINGER_MS);
      ear.closing.unref();
    };
  }

  #listen(agent: string, after: number): Ear {
    const reader = this.#connection.readerOf(this.#workflowId);
    const stop = reader.listen(
      { agent, types: WORDS, onEvent: (event) => this.#heard(event), onGap: () => this.#gaps.forEach((ask) => ask()) },
      after,
    );
    const ear: Ear = { stop, users: 0, closing: undefined };
    this.#ears.set(agent, ear);
    return ear;
  }

  #heard({ envelope }: LogEvent): void {
    const { lock_id: lockId, from } = envelope;
    // What the agents themselves said is logged, too.
    if (typeof lockId !== 'string' || from !== 'synod') return;
    const hearers = this.#waiting.get(lockId);
    if (hearers) for (const hears of hearers) hears(envelope);
    this.#early.delete(lockId);
    this.#early.set(lockId, envelope);
    const oldest = this.#early.size > MAX_EARLY ? this.#early.keys().next() : undefined;
    if (oldest && !oldest.done) this.#early.delete(oldest.value);
  }
}
