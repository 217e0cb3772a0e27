import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { byName } from '../../envelope/byName.ts';
import { decisionMessages } from '../../envelope/decision.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import { SynodError } from '../../envelope/refusal.ts';
import { accepted } from '../messages/answers.ts';
import { compose, keyFor } from '../messages/compose.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';
import type { Keys } from '../messages/options.ts';
import { askItself, outcomeOf, proposalEnding } from '../messages/outcome.ts';
import { proposalTarget } from '../../envelope/targets.ts';

/** A question to put to the vote. */
export interface ProposalOptions {
  /** 1 to 200 UTF-16 units, unique in the room; default: a random one. Name it, and asking again after a crash is no second proposal. */
  readonly proposal_id?: string;
  readonly question: string;
  /** 2 to 32; default yes and no. */
  readonly options?: readonly string[];
  /** 1 to 256 agents, and nobody else may vote. All of it goes in one envelope of 16 KiB. */
  readonly voters: readonly string[];
  /** Votes for one choice that decide it. */
  readonly quorum: number;
  /** Seconds until it has failed, at most 30 days. */
  readonly deadlineSeconds: number;
  /** Default: derived from `proposal_id`. */
  readonly idempotency_key?: string;
  /** Seconds for which the proposal answers after it has ended; default 60. */
  readonly linger_seconds?: number;
}

/** The keys of {@link ProposalOptions}. */
export const PROPOSAL_KEYS: Keys<ProposalOptions> = {
  proposal_id: true,
  question: true,
  options: true,
  voters: true,
  quorum: true,
  deadlineSeconds: true,
  idempotency_key: true,
  linger_seconds: true,
};

/** How many votes each choice has. Read it with `Object.hasOwn`: a choice may be called like what every object inherits. */
export type Tally = { readonly [choice: string]: number };

/** How a proposal ended. */
export type DecisionResult =
  | {
      readonly outcome: 'committed';
      readonly proposal_id: string;
      readonly choice: string;
      readonly tally: Tally;
      /** Who voted for what. */
      readonly votes: { readonly [voter: string]: string };
    }
  | {
      readonly outcome: 'failed';
      readonly proposal_id: string;
      readonly reason: 'deadline' | 'unreachable' | 'withdrawn';
      readonly tally: Tally;
    };

const tally = byName(z.number());
const result = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('decision.commit'),
    proposal_id: z.string(),
    choice: z.string(),
    tally,
    votes: byName(z.string()),
  }),
  z.object({
    type: z.literal('decision.failed'),
    proposal_id: z.string(),
    reason: z.enum(['deadline', 'unreachable', 'withdrawn']),
    tally,
  }),
]);

function resultOf(envelope: Envelope): DecisionResult | undefined {
  const { data } = result.safeParse(envelope);
  if (data?.type === 'decision.commit') {
    const { proposal_id, choice, tally: counted, votes } = data;
    return { outcome: 'committed', proposal_id, choice, tally: counted, votes };
  }
  return data && { outcome: 'failed', proposal_id: data.proposal_id, reason: data.reason, tally: data.tally };
}

/** Behind `room.decide`. */
export async function decide(
  connection: SharedConnection,
  agent: string,
  room: string,
  options: ProposalOptions,
  signal?: AbortSignal,
): Promise<DecisionResult> {
  const { proposal_id = randomUUID(), deadlineSeconds, linger_seconds: linger, ...fields } = options;
  const message = compose(decisionMessages['decision.propose'], agent, {
    type: 'decision.propose',
    idempotency_key: keyFor('propose', proposal_id),
    ...fields,
    proposal_id,
    deadline_seconds: deadlineSeconds,
  });
  const target = proposalTarget(room, proposal_id, linger === undefined ? undefined : { linger_seconds: linger });
  accepted(await connection.send(target, message, signal), `proposal ${proposal_id}`);
  const ending = proposalEnding(room, proposal_id);
  const told = resultOf(await outcomeOf(connection, agent, ending, signal));
  if (told) return told;
  // What is too large for one envelope leaves its votes out; the proposal itself has them whole.
  const whole = await askItself(connection, ending, signal);
  const read = whole && resultOf(whole);
  if (!read) throw new SynodError('unknown', `how proposal ${proposal_id} ended cannot be read`);
  return read;
}
