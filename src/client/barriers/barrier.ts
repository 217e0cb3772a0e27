import { z } from 'zod';
import { barrierMessages, rosterParts, type BarrierMessage, type BarrierOpen } from '../../envelope/barrier.ts';
import { bodyHash, type Base, type Envelope } from '../../envelope/envelope.ts';
import { SynodError } from '../../envelope/refusal.ts';
import { barrierTarget } from '../../envelope/targets.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';
import { accepted, asError } from '../messages/answers.ts';
import { compose } from '../messages/compose.ts';
import { lingering, sendOpening } from '../messages/opening.ts';
import type { Keys } from '../../envelope/options.ts';
import { askItself, barrierEnding, outcomeOf } from '../messages/outcome.ts';
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
  readonly lingerSeconds?: number;
}

/** The keys of {@link BarrierOptions}. */
export const BARRIER_KEYS: Keys<BarrierOptions> = {
  roster: true,
  timeoutSeconds: true,
  fallback: true,
  quorum: true,
  note: true,
  lingerSeconds: true,
};

/** How a barrier ended. Each list names at most 32; the counts are of all. */
export interface BarrierResult {
  readonly outcome: 'released' | 'failed';
  readonly phase: string;
  /**
   * Whether the barrier had ended before this call reached it: nobody was waited for. A phase is met once; for a loop take
   * `room.rounds`. Also true after a restart of the agent, and where an outage kept the answer away until after the end.
   */
  readonly repeated: boolean;
  /** Who is in, the first to come first. */
  readonly arrived: readonly string[];
  /** Who left, and at a release who was missing. */
  readonly dropped: readonly string[];
  /** At a failure: who was missing. */
  readonly missing: readonly string[];
  readonly arrivedCount: number;
  readonly droppedCount: number;
  readonly missingCount: number;
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
const view = z.object({
  status: z.string(),
  fallback: z.string().optional(),
  quorum: z.number().optional(),
  timeout_seconds: z.number().optional(),
  roster: names,
  roster_complete: z.boolean().default(false),
  arrived: names,
  dropped: names,
});
type View = z.infer<typeof view>;
const ENDED: ReadonlySet<string> = new Set(['released', 'failed']);

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
    const ended = roster ? await this.#open(roster, options) : false;
    if (roster && !roster.includes(this.#agent)) return await this.#wait(ended);
    return (await this.#checkIn(note)) ?? (await this.#wait(false));
  }

  /** Behind `room.leaveBarrier`. */
  async leave(): Promise<void> {
    const message = this.#compose('barrier.leave', {});
    accepted(await this.#send({ ...message, idempotency_key: `leave-${bodyHash(message)}` }), this.#what);
  }

  /** Whether it was opened, and has ended. */
  async hasEnded(): Promise<boolean> {
    const seen = await this.#view();
    return seen !== undefined && ENDED.has(seen.status);
  }

  get #ending(): ReturnType<typeof barrierEnding> {
    return barrierEnding(this.#room, this.#phase);
  }

  /** What it is called in errors. */
  get #what(): string {
    return `phase ${this.#phase}`;
  }

  #compose(type: BarrierMessage['type'], fields: object): BarrierMessage {
    const schema: z.ZodType<BarrierMessage> = barrierMessages[type];
    return compose(schema, this.#agent, { type, phase: this.#phase, ...fields });
  }

  async #send(message: Base): Promise<Envelope[]> {
    return await this.#connection.send(barrierTarget(this.#room, this.#phase), message, this.#signal);
  }

  /** Opens the phase; whether it has ended already. */
  async #open(roster: readonly string[], options: BarrierOptions): Promise<boolean> {
    const { timeoutSeconds: timeout_seconds, fallback, quorum, lingerSeconds } = options;
    const [first = [], ...rest] = rosterParts(roster);
    const composed = compose(barrierMessages['barrier.open'], this.#agent, {
      type: 'barrier.open',
      phase: this.#phase,
      roster: first,
      timeout_seconds,
      fallback,
      quorum,
      more: rest.length > 0,
    });
    // The key is that of the parsed message, so that it is the same message after a crash.
    const opening = { ...composed, idempotency_key: `open-${bodyHash(composed)}` };
    const target = barrierTarget(this.#room, this.#phase, lingering(lingerSeconds));
    const answers = await sendOpening(this.#connection, target, opening, this.#signal);
    const [answer] = answers;
    if (answer?.['code'] === 'idempotency_conflict') {
      const seen = await this.#view();
      // Another member was first, with the same roster and terms: then it does not matter who opened it.
      if (seen && openedAlike(seen, roster, opening)) return ENDED.has(seen.status);
    }
    if (answer?.type === 'error') throw asError(answer, this.#what);
    if (answers.some(({ type }) => this.#ending.types.has(type))) return true;
    for (const [i, part] of rest.entries()) {
      const message = this.#compose('barrier.roster', { roster: part, more: i < rest.length - 1 });
      accepted(await this.#send({ ...message, idempotency_key: `roster-${bodyHash(message)}` }), this.#what);
    }
    return false;
  }

  /**
   * Checks in as soon as the phase is open to this agent; the end, where it has come with it. Each call is a message of its own:
   * to check in twice is to check in once, and only an ended barrier answers `closed`.
   */
  async #checkIn(note: string | undefined): Promise<BarrierResult | undefined> {
    for (let attempt = 0; ; attempt++) {
      this.#signal?.throwIfAborted();
      const replies = await this.#send(this.#compose('barrier.checkin', { note }));
      const [answer] = replies;
      if (answer?.type !== 'error') {
        const last = replies.at(-1);
        // Too large for the answer to many at once it leaves its names out; then it is asked for.
        const whole = last && this.#ending.types.has(last.type) && !('omitted' in last);
        return whole ? this.#resultOf(last, false) : undefined;
      }
      const ended = await this.#refused(answer);
      if (ended) return ended;
      await pause(backoff(attempt, true), this.#signal);
    }
  }

  /** What a refused check-in comes to: an end that it had part in, another attempt (undefined), or an error. */
  async #refused(answer: Envelope): Promise<BarrierResult | undefined> {
    const { code } = answer;
    // Nobody has opened it yet.
    if (code === 'unknown') return undefined;
    const seen = code === 'closed' || code === 'not_eligible' ? await this.#view() : undefined;
    // Started by somebody who did not open it, its name is free again after a minute.
    if (seen?.status === 'unopened') return undefined;
    // Its part of the roster is still to come, or came just now.
    const expected = seen && (!seen.roster_complete || seen.roster.includes(this.#agent));
    if (code === 'not_eligible' && expected && !seen.dropped.includes(this.#agent)) return undefined;
    const ended = seen?.arrived.includes(this.#agent)
      ? await askItself(this.#connection, this.#ending, this.#signal)
      : undefined;
    if (ended) return this.#resultOf(ended, true);
    throw asError(answer, this.#what);
  }

  async #wait(repeated: boolean): Promise<BarrierResult> {
    return this.#resultOf(await outcomeOf(this.#connection, this.#agent, this.#ending, this.#signal), repeated);
  }

  async #view(): Promise<View | undefined> {
    const seen = await this.#connection.view(this.#ending.target.workflowId, undefined, this.#signal);
    return seen && view.parse(seen);
  }

  #resultOf(envelope: Envelope, repeated: boolean): BarrierResult {
    const { data } = result.safeParse(envelope);
    if (!data) throw new SynodError('unknown', `how phase ${this.#phase} ended cannot be read`);
    const { type, phase, arrived, dropped, missing } = data;
    return {
      outcome: type === 'barrier.released' ? 'released' : 'failed',
      phase,
      repeated,
      arrived,
      dropped,
      missing,
      arrivedCount: data.arrived_count,
      droppedCount: data.dropped_count,
      missingCount: data.missing_count,
    };
  }
}

/** Whether a barrier has the roster and the terms of an opening. Both are compared as parsed: durations are rounded. */
function openedAlike(seen: View, roster: readonly string[], opening: BarrierOpen): boolean {
  return (
    seen.timeout_seconds === opening.timeout_seconds &&
    seen.fallback === opening.fallback &&
    seen.quorum === opening.quorum &&
    seen.roster.every((member, i) => member === roster[i]) &&
    (seen.roster.length === roster.length || !seen.roster_complete)
  );
}
