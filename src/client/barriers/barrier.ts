import { z } from 'zod';
import { barrierMessages, rosterParts, type BarrierMessage } from '../../envelope/barrier.ts';
import { sha256Hex } from '../../envelope/canonical.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import { SynodError } from '../../envelope/refusal.ts';
import { accepted, asError } from '../messages/answers.ts';
import { compose } from '../messages/compose.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';
import type { Keys } from '../messages/options.ts';
import { askItself, barrierEnding, outcomeOf } from '../messages/outcome.ts';
import { barrierTarget } from '../../envelope/targets.ts';
import { backoff, pause } from '../timing/timing.ts';

/** Options of `room.barrier`. */
export interface BarrierOptions {
  /** Who is waited for, 1 to 1,024 agents: opens the phase. Without it, somebody else opens it. */
  readonly roster?: readonly string[];
  /** Seconds until the fallback; needed with a roster. */
  readonly timeoutSeconds?: number;
  /** At the time-out: go on with who is in, ask an operator, or fail; needed with a roster. */
  readonly fallback?: 'proceed' | 'escalate' | 'fail';
  /** How many must be in for `proceed`; default all, so that any who is missing is escalated. */
  readonly quorum?: number;
  /** What this agent says as it checks in. */
  readonly note?: string;
  /** Seconds for which the barrier answers after it has ended; default 60. */
  readonly linger_seconds?: number;
}

/** The keys of {@link BarrierOptions}. */
export const BARRIER_KEYS: Keys<BarrierOptions> = {
  roster: true,
  timeoutSeconds: true,
  fallback: true,
  quorum: true,
  note: true,
  linger_seconds: true,
};

/** How a barrier ended. Each list names at most 32; the counts are of all. */
export interface BarrierResult {
  readonly outcome: 'released' | 'failed';
  readonly phase: string;
  /** Who is in, the first to come first. */
  readonly arrived: readonly string[];
  /** Who left, and at a release who was missing. */
  readonly dropped: readonly string[];
  /** At a failure: who was missing. */
  readonly missing: readonly string[];
  readonly arrived_count: number;
  readonly dropped_count: number;
  readonly missing_count: number;
}

const names = z.array(z.string()).default([]);
const result = z.object({
  type: z.enum(['barrier.released', 'barrier.failed']),
  phase: z.string(),
  arrived: names,
  dropped: names,
  missing: names,
  arrived_count: z.number(),
  dropped_count: z.number(),
  missing_count: z.number(),
});
const standing = z.object({
  status: z.string(),
  fallback: z.string().optional(),
  quorum: z.number().optional(),
  timeout_seconds: z.number().optional(),
  roster: names,
  roster_complete: z.boolean().default(false),
  arrived: names,
  dropped: names,
});

/** One phase as one agent meets it. */
export class Meeting {
  readonly #connection: SharedConnection;
  readonly #agent: string;
  readonly #room: string;
  readonly #phase: string;
  readonly #signal: AbortSignal | undefined;

  constructor(connection: SharedConnection, agent: string, room: string, phase: string, signal?: AbortSignal) {
    this.#connection = connection;
    this.#agent = agent;
    this.#room = room;
    this.#phase = phase;
    this.#signal = signal;
  }

  /** Behind `room.barrier`. */
  async meet(options: BarrierOptions): Promise<BarrierResult> {
    const { roster, note } = options;
    if (roster) await this.#open(roster, options);
    const member = roster?.includes(this.#agent) ?? true;
    const ended = member ? await this.#checkIn(note) : undefined;
    return ended ?? this.#resultOf(await outcomeOf(this.#connection, this.#agent, this.#ending, this.#signal));
  }

  /** Behind `room.leaveBarrier`. */
  async leave(): Promise<void> {
    accepted(await this.#send('barrier.leave', 'leave'), `phase ${this.#phase}`);
  }

  get #ending(): ReturnType<typeof barrierEnding> {
    return barrierEnding(this.#room, this.#phase);
  }

  /** Sends one message of this phase. Its key is derived, so that it is the same message after a crash. */
  async #send(type: BarrierMessage['type'], what: string, fields: object = {}, linger?: number): Promise<Envelope[]> {
    const schema: z.ZodType<BarrierMessage> = barrierMessages[type];
    const key = `${what}-${sha256Hex(`${this.#phase} ${JSON.stringify(fields)}`)}`;
    const message = compose(schema, this.#agent, { type, phase: this.#phase, idempotency_key: key, ...fields });
    const config = linger === undefined ? undefined : { linger_seconds: linger };
    return await this.#connection.send(barrierTarget(this.#room, this.#phase, config), message, this.#signal);
  }

  async #open(roster: readonly string[], options: BarrierOptions): Promise<void> {
    const { timeoutSeconds: timeout_seconds, fallback, quorum, linger_seconds: linger } = options;
    const [first = [], ...rest] = rosterParts(roster);
    const terms = { timeout_seconds, fallback, quorum };
    const opening = { roster: first, ...terms, more: rest.length > 0 };
    const [answer] = await this.#send('barrier.open', 'open', opening, linger);
    if (answer?.['code'] === 'idempotency_conflict' && (await this.#openedAlike(roster, options))) return;
    if (answer?.type === 'error') throw asError(answer, `phase ${this.#phase}`);
    for (const [i, part] of rest.entries()) {
      const more = i < rest.length - 1;
      accepted(await this.#send('barrier.roster', 'roster', { roster: part, more }), `phase ${this.#phase}`);
    }
  }

  /** Whether another member was first, with the same roster and terms: then it does not matter who opened it. */
  async #openedAlike(
    roster: readonly string[],
    { timeoutSeconds, fallback, quorum }: BarrierOptions,
  ): Promise<boolean> {
    const view = await this.#standing();
    return (
      view !== undefined &&
      view.timeout_seconds === timeoutSeconds &&
      view.fallback === fallback &&
      view.quorum === quorum &&
      view.roster.every((member, i) => member === roster[i]) &&
      (view.roster.length === roster.length || !view.roster_complete)
    );
  }

  /** Checks in as soon as the phase is open to this agent; the end, where it has come with it. */
  async #checkIn(note: string | undefined): Promise<BarrierResult | undefined> {
    for (let attempt = 0; ; attempt++) {
      this.#signal?.throwIfAborted();
      // A refusal is remembered with its message's key: each further attempt is a message of its own.
      const what = attempt === 0 ? 'checkin' : `checkin${attempt}`;
      const replies = await this.#send('barrier.checkin', what, note === undefined ? {} : { note });
      const [answer] = replies;
      if (answer?.type !== 'error') {
        const last = replies.at(-1);
        // Too large for the answer to a crowd it leaves its names out; then it is asked for.
        const whole = last && this.#ending.types.has(last.type) && !('omitted' in last);
        return whole ? this.#resultOf(last) : undefined;
      }
      const ended = await this.#refused(answer);
      if (ended) return ended;
      await pause(backoff(attempt), this.#signal);
    }
  }

  /** What a refused check-in comes to: an end that it had part in, another attempt (undefined), or an error. */
  async #refused(answer: Envelope): Promise<BarrierResult | undefined> {
    const { code } = answer;
    if (code === 'unknown') return undefined;
    const view = code === 'closed' || code === 'not_eligible' ? await this.#standing() : undefined;
    // Started by somebody who did not open it, its name is free again after a minute.
    if (view?.status === 'unopened') return undefined;
    // Its part of the roster is still to come, or came just now.
    const expected = view && (!view.roster_complete || view.roster.includes(this.#agent));
    if (code === 'not_eligible' && expected && !view.dropped.includes(this.#agent)) return undefined;
    const ended = view?.arrived.includes(this.#agent)
      ? await askItself(this.#connection, this.#ending, this.#signal)
      : undefined;
    if (ended) return this.#resultOf(ended);
    throw asError(answer, `phase ${this.#phase}`);
  }

  async #standing(): Promise<z.infer<typeof standing> | undefined> {
    const view = await this.#connection.view(this.#ending.target.workflowId, undefined, this.#signal);
    return view && standing.parse(view);
  }

  #resultOf(envelope: Envelope): BarrierResult {
    const { data } = result.safeParse(envelope);
    if (!data) throw new SynodError('unknown', `how phase ${this.#phase} ended cannot be read`);
    const { type, ...fields } = data;
    return { outcome: type === 'barrier.released' ? 'released' : 'failed', ...fields };
  }
}
