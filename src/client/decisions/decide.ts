import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { byName } from '../../envelope/byName.ts';
import { decisionMessages } from '../../envelope/decision.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import { SynodError } from '../../envelope/refusal.ts';
import { accepted } from '../messages/answers.ts';
import { compose, keyFor } from '../messages/compose.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';
import { lingering, sendOpening } from '../messages/opening.ts';
import type { Keys } from '../../envelope/options.ts';
import { askItself, outcomeOf, proposalEnding } from '../messages/outcome.ts';
import { proposalTarget } from '../../envelope/targets.ts';

/** A question to put to the vote. */
export interface ProposalOptions {
  /** 1 to 200 UTF-16 units, unique in the room; default: a random one. Name it, and asking again after a crash is no second proposal. */
  readonly proposalId?: string;
  readonly question: string;
  /** 2 to 32; default yes and no. */
  readonly options?: readonly string[];
  /** 1 to 256 agents, and nobody else may vote. All of it goes in one envelope of 16 KiB. */
  readonly voters: readonly string[];
  /** Votes for one choice that decide it. */
  readonly quorum: number;
  /** Seconds until it has failed, at most 30 days. */
  readonly deadlineSeconds: number;
  /** Default: derived from `proposalId`. */
  readonly idempotencyKey?: string;
  /** Seconds for which the proposal answers after it has ended; default 60. */
  readonly lingerSeconds?: number;
}

/** The keys of {@link ProposalOptions}. */
export const PROPOSAL_KEYS: Keys<ProposalOptions> = {
  proposalId: true,
  question: true,
  options: true,
  voters: true,
  quorum: true,
  deadlineSeconds: true,
  idempotencyKey: true,
  lingerSeconds: true,
};

/** How many votes each choice has. Read it with `Object.hasOwn`: a choice may be called like what every object inherits. */
export type Tally = { readonly [choice: string]: number };

/** How a proposal ended. */
export type DecisionResult =
  | {
      readonly outcome: 'committed';
      readonly proposalId: string;
      readonly choice: string;
      readonly tally: Tally;
      /** Who voted for what. */
      readonly votes: { readonly [voter: string]: string };
    }
  | {
      readonly outcome: 'failed';
      readonly proposalId: string;
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
  if (!data) return undefined;
  const { proposal_id: proposalId, tally: counted } = data;
  return data.type === 'decision.commit'
    ? { outcome: 'committed', proposalId, choice: data.choice, tally: counted, votes: data.votes }
    : { outcome: 'failed', proposalId, reason: data.reason, tally: counted };
}

/** Behind `room.decide`. */
export async function decide(
  connection: SharedConnection,
  agent: string,
  room: string,
  options: ProposalOptions,
  signal?: AbortSignal,
): Promise<DecisionResult> {
  const { proposalId = randomUUID(), deadlineSeconds, idempotencyKey, lingerSeconds, ...fields } = options;
  const message = compose(decisionMessages['decision.propose'], agent, {
    type: 'decision.propose',
    idempotency_key: idempotencyKey ?? keyFor('propose', proposalId),
    ...fields,
    proposal_id: proposalId,
    deadline_seconds: deadlineSeconds,
  });
  const target = proposalTarget(room, proposalId, lingering(lingerSeconds));
  accepted(await sendOpening(connection, target, message, signal), `proposal ${proposalId}`);
  const ending = proposalEnding(room, proposalId);
  const ended = resultOf(await outcomeOf(connection, agent, ending, signal));
  if (ended) return ended;
  // What is too large for one envelope leaves its votes out; the proposal itself has them whole.
  const whole = await askItself(connection, ending, signal);
  const read = whole && resultOf(whole);
  if (!read) throw new SynodError('unknown', `how proposal ${proposalId} ended cannot be read`);
  return read;
}
