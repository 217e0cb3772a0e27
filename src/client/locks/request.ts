import { z } from 'zod';
import type { Envelope } from '../../envelope/envelope.ts';
import { lockMessages, tokensByResource, type LockMessage, type LockType } from '../../envelope/lock.ts';
import { asError } from '../messages/answers.ts';
import { compose } from '../messages/compose.ts';
import { termOf } from '../leases/term.ts';
import { jittered, linked, withGrace, pause } from '../timing/timing.ts';
import { denied, Hold, type Denial, type Place, type Wanted } from './hold.ts';
import { LockEvents } from './lockEvents.ts';

/** A waiter asks again what became of it so often, in milliseconds, in case the answer was lost. */
const ASK_INTERVAL_MS = 15_000;

/** What answers a request, or ends its wait. */
const granted = z.object({
  type: z.literal('lock.granted'),
  lock_id: z.string(),
  tokens: tokensByResource,
  lease_seconds: z.number(),
  seq: z.number().default(0),
});
const queued = z.object({ type: z.literal('lock.queued'), lock_id: z.string(), seq: z.number().default(0) });
const ENDS = new Set(['lock.denied', 'lock.cancelled', 'lock.expired', 'lock.released']);

/** How a request is made. */
export interface RequestOptions {
  readonly leaseSeconds?: number | undefined;
  readonly waitSeconds?: number | undefined;
  readonly priority?: number | undefined;
  readonly scope?: number | undefined;
}

/** What ended a wait: a grant, or an end. */
interface Outcome {
  readonly envelope: Envelope;
  /** `performance.now()` when something was sent that was handled before the envelope was made. */
  readonly sentAt: number;
  /** It came after a wait. */
  readonly waited: boolean;
}

/**
 * Asks for locks, and waits for the answer: again where what was granted is over before it could be held. Whoever leaves without an
 * answer, by `signal` or by an error, cancels; that takes seconds at most, also where the server is away.
 */
export async function request(
  place: Place,
  wanted: Wanted,
  options: RequestOptions,
  signal: AbortSignal,
): Promise<Hold | Denial> {
  const { connection } = place;
  const ends = linked([signal, connection.leaving]);
  try {
    for (;;) {
      if (ends.signal.aborted) throw reasonOf(signal);
      const answer = await connection.beforeClosing(new Request(place, wanted, options, ends.signal).answer());
      if (answer) return answer;
    }
  } catch (error) {
    throw error === ends.signal.reason ? reasonOf(signal) : error;
  } finally {
    ends.release();
  }
}

function reasonOf(signal: AbortSignal): unknown {
  return signal.aborted ? signal.reason : new Error('disconnected while waiting for a lock');
}

/** One request for locks. */
class Request {
  readonly #place: Place;
  readonly #wanted: Wanted;
  readonly #signal: AbortSignal;
  readonly #message: Extract<LockMessage, { type: 'lock.request' }>;

  constructor(place: Place, wanted: Wanted, options: RequestOptions, signal: AbortSignal) {
    this.#place = place;
    this.#wanted = wanted;
    this.#signal = signal;
    this.#message = compose(lockMessages['lock.request'], place.agent, {
      type: 'lock.request',
      resources: wanted.resources,
      lock_type: wanted.type,
      lease_seconds: options.leaseSeconds,
      wait_seconds: options.waitSeconds,
      priority: options.priority,
      scope: options.scope,
    });
  }

  /** What is held by it, or why it is not; undefined where what was granted is over. */
  async answer(): Promise<Hold | Denial | undefined> {
    let settled = false;
    try {
      const outcome = await this.#outcome();
      const answer = await this.#answered(outcome);
      // A wait ends with a denial by its time alone; another answers a repeat that was taken for new, beside what waits.
      settled = !(outcome.waited && answer && 'reason' in answer && answer.reason !== 'timeout');
      return answer;
    } finally {
      if (!settled) await this.#cancel();
    }
  }

  async #answered({ envelope, sentAt, waited }: Outcome): Promise<Hold | Denial | undefined> {
    const denial = denied.safeParse(envelope);
    if (denial.success) return denial.data;
    const grant = granted.safeParse(envelope);
    if (!grant.success) return undefined;
    const { lock_id: lockId, tokens, seq } = grant.data;
    const tokenless = this.#wanted.resources.find((resource) => !Object.hasOwn(tokens, resource));
    if (tokenless !== undefined) throw new Error(`the grant ${lockId} has no token of ${tokenless}`);
    const full = { ...this.#wanted, lockId, tokens, seq };
    return await this.#unlessLeft(async () => await Hold.begin(this.#place, full, termOf(envelope, sentAt), waited));
  }

  async #outcome(): Promise<Outcome> {
    const sentAt = performance.now();
    const answers = await this.#ask();
    const ended = endOf(answers);
    if (ended) return { envelope: ended, sentAt, waited: false };
    const [first] = answers;
    const waiting = queued.safeParse(first);
    if (waiting.success) return await this.#wait(waiting.data, sentAt);
    throw first?.type === 'error' ? asError(first) : new Error(`a lock request was answered by ${first?.type}`);
  }

  /**
   * Waits for what ends the wait, by the manager's log, and now and then by asking again.
   * @param sentAt when the request was sent.
   */
  async #wait({ lock_id: lockId, seq }: z.infer<typeof queued>, sentAt: number): Promise<Outcome> {
    const { connection, agent, target } = this.#place;
    let outcome: Outcome | undefined;
    let wake = new AbortController();
    // What has ended has ended: a grant that comes beside it is older.
    const note = (envelope: Envelope, since: number) => {
      if (outcome && ENDS.has(outcome.envelope.type)) return;
      outcome = { envelope, sentAt: since, waited: true };
      wake.abort();
    };
    const stop = LockEvents.of(connection, target.workflowId).listen({
      agent,
      lockId,
      after: seq,
      onEvent: (event) => note(event, sentAt),
      onGap: () => wake.abort(),
    });
    try {
      while (!outcome) {
        await pause(jittered(ASK_INTERVAL_MS), AbortSignal.any([this.#signal, wake.signal]));
        if (outcome) break;
        this.#signal.throwIfAborted();
        wake = new AbortController();
        const askedAt = performance.now();
        const answers = await this.#ask();
        const ended = endOf(answers);
        if (ended) note(ended, askedAt);
        // It waited still when this was handled, so whatever is granted is granted after it was sent.
        else if (queued.safeParse(answers[0]).success) sentAt = askedAt;
        else throw answers[0]?.type === 'error' ? asError(answers[0]) : new Error('a lock request was not answered');
      }
      return outcome;
    } finally {
      stop();
    }
  }

  async #ask(): Promise<readonly Envelope[]> {
    const { connection, target } = this.#place;
    return await this.#unlessLeft(async (end) => await connection.send(target, this.#message, end));
  }

  /** What the work comes to, but no more than seconds after the caller has left. */
  async #unlessLeft<T>(work: (end: AbortSignal) => Promise<T>): Promise<T> {
    const answer = await withGrace(this.#signal, async (end) => ({ value: await work(end) }));
    if (!answer) throw this.#signal.reason;
    return answer.value;
  }

  /** Takes the request back; what has been granted meanwhile is released by it. */
  async #cancel(): Promise<void> {
    const { connection, agent, target } = this.#place;
    const message = compose(lockMessages['lock.cancel'], agent, { type: 'lock.cancel', request: this.#message.id });
    try {
      await withGrace(AbortSignal.abort(), async (end) => await connection.send(target, message, end));
    } catch (error) {
      process.emitWarning(`synod: a lock request could not be cancelled, its wait runs out: ${String(error)}`);
    }
  }
}

/** The last of some answers that ends a request, where there is one. */
function endOf(answers: readonly Envelope[]): Envelope | undefined {
  return answers.findLast(({ type }) => type === 'lock.granted' || ENDS.has(type));
}

/** The kind that gives all that two kinds give; undefined where none does. */
export function stronger(a: LockType, b: LockType): LockType | undefined {
  if (a === b) return a;
  if (a === 'permit' || b === 'permit') return undefined;
  return a === 'exclusive' || b === 'exclusive' ? 'exclusive' : 'write';
}
