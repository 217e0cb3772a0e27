import { whole } from '../../envelope/fields.ts';
import { explain, parseErrors, SynodError } from '../../envelope/refusal.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';
import { boardRows } from '../messages/board.ts';
import type { Keys } from '../../envelope/options.ts';
import { BARRIER_KEYS, Meeting, type BarrierOptions, type BarrierResult } from './barrier.ts';

/** Options of `room.rounds`: those of each round's barrier, and where to begin. */
export interface RoundsOptions extends Omit<BarrierOptions, 'note'> {
  /**
   * The last round that this agent has met, 0 for none: the next one is met, whatever the others do. Default: the board is asked
   * for the current round, see {@link Rounds.current}.
   */
  readonly after?: number;
}

const { note: _note, ...TERMS } = BARRIER_KEYS;
/** The keys of {@link RoundsOptions}. */
export const ROUNDS_KEYS: Keys<RoundsOptions> = { ...TERMS, after: true };

/** How a round ended. */
export interface RoundResult extends BarrierResult {
  /** Its number, from 1; its phase is `name:round`. */
  readonly round: number;
}

/** The barriers of a loop: the phases `name:1`, `name:2`, …, one after the other. */
export class Rounds {
  readonly #connection: SharedConnection;
  readonly #agent: string;
  readonly #room: string;
  readonly #name: string;
  readonly #terms: BarrierOptions;
  /** The round that is met next; undefined until the board has been asked. */
  #next: number | undefined;
  /** Whether a round that is over may be passed over: until this agent has met one. */
  #joining: boolean;

  /** @throws SynodError `invalid_envelope` where `after` is no whole number. */
  constructor(connection: SharedConnection, agent: string, room: string, name: string, options: RoundsOptions) {
    const { after, ...terms } = options;
    const parsed = whole(0).optional().safeParse(after, parseErrors);
    if (!parsed.success) throw new SynodError('invalid_envelope', explain(parsed.error, 'after'));
    this.#connection = connection;
    this.#agent = agent;
    this.#room = room;
    this.#name = name;
    this.#terms = terms;
    this.#next = after === undefined ? undefined : after + 1;
    this.#joining = after === undefined;
  }

  /**
   * The number of the round that `next` meets. Without `after`, at first: the highest round on the board where that is open, else
   * the one that follows it, else 1. The board keeps what has ended for an hour: where rounds are further apart, or an agent must
   * not miss one that ended while it was away, keep the number and give it as `after`.
   */
  async current(signal?: AbortSignal): Promise<number> {
    this.#next ??= await this.#onBoard(signal);
    return this.#next;
  }

  /**
   * Meets the others in the next round, as `room.barrier` does. An agent that joins without `after` passes over rounds that have
   * ended; later, and with `after`, such a round is met as `repeated`. Called twice at once it meets the same round twice.
   * @param options `note`: what this agent says as it checks in.
   * @param signal ends the wait; the check-in stands, and the next call meets the same round.
   * @throws SynodError as `room.barrier`; `closed` where the round ended without this agent: the next call meets the following one.
   */
  async next(options: { readonly note?: string } = {}, signal?: AbortSignal): Promise<RoundResult> {
    for (;;) {
      const round = await this.current(signal);
      const result = await this.#meet(round, options, signal);
      this.#next = round + 1;
      if (this.#joining && (result === undefined || result.repeated)) continue;
      this.#joining = false;
      if (result) return { ...result, round };
    }
  }

  /** Undefined where it has ended without this agent, which only joins. */
  async #meet(
    round: number,
    options: { readonly note?: string },
    signal: AbortSignal | undefined,
  ): Promise<BarrierResult | undefined> {
    const meeting = new Meeting(this.#connection, this.#agent, this.#room, `${this.#name}:${round}`, signal);
    try {
      return await meeting.meet({ ...this.#terms, ...options });
    } catch (error) {
      const code = error instanceof SynodError ? error.code : undefined;
      // The terms of a round that is over do not matter to who joins.
      const conflict = code === 'idempotency_conflict';
      if (this.#joining && (code === 'closed' || (conflict && (await meeting.hasEnded())))) return undefined;
      if (code === 'closed') this.#next = round + 1;
      // It may have checked in.
      else this.#joining = false;
      throw error;
    }
  }

  async #onBoard(signal: AbortSignal | undefined): Promise<number> {
    const rows = await boardRows(this.#connection, this.#room, { kind: 'barrier' }, signal);
    let current = 1;
    for (const { id, status } of rows) {
      const round = id.startsWith(`${this.#name}:`) ? id.slice(this.#name.length + 1) : '';
      if (!/^[1-9]\d{0,14}$/.test(round)) continue;
      current = Math.max(current, Number(round) + (status === 'released' || status === 'failed' ? 1 : 0));
    }
    return current;
  }
}
