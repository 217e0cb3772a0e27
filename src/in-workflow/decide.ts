import * as wf from '@temporalio/workflow';
import { z } from 'zod';
import { proposalTarget } from '../envelope/targets.ts';
import { byName } from '../envelope/byName.ts';
import { sha256Hex } from '../envelope/canonical.ts';
import { decisionMessages } from '../envelope/decision.ts';
import { open } from './opening.ts';
import { checkedRoom, compose, lingering } from './send.ts';
import { senderOf, type SenderOptions } from './sender.ts';

const counts = byName(z.number());
const decision = z.union([
  z
    .object({
      type: z.literal('decision.commit'),
      proposal_id: z.string(),
      choice: z.string(),
      /** How many votes each option has. */
      tally: counts.optional(),
      /** Who voted for what; left out where it is too large for an envelope. */
      votes: byName(z.string()).optional(),
    })
    .transform(withProposalId),
  z
    .object({
      type: z.literal('decision.failed'),
      proposal_id: z.string(),
      reason: z.enum(['deadline', 'unreachable', 'withdrawn']),
      tally: counts.optional(),
    })
    .transform(withProposalId),
]);

function withProposalId<Fields extends { readonly proposal_id: string }>({
  proposal_id: proposalId,
  ...fields
}: Fields) {
  return { ...fields, proposalId };
}

/** How a vote ended: `decision.commit` or `decision.failed`, with the wire's fields in camelCase. */
export type DecisionOutcome = z.infer<typeof decision>;

/** A question to vote on. */
export interface ProposalOptions extends SenderOptions {
  readonly question: string;
  /** All who may vote, 1 to 256 agent ids. */
  readonly voters: readonly string[];
  /** So many votes for one option decide, 1 to the number of voters. */
  readonly quorum: number;
  /** Longest time for the vote, in seconds. */
  readonly deadlineSeconds: number;
  /** 2 to 32; default yes and no. */
  readonly options?: readonly string[];
  /** Default: a new one each time. With one of your own, asking again, in a later run, resolves to the same decision. */
  readonly proposalId?: string;
  /** Seconds for which it answers after it has ended; default 60. */
  readonly lingerSeconds?: number;
}

/**
 * Proposes something to a room's agents and waits until they have decided, or cannot any more.
 * @throws ApplicationFailure `invalid_envelope` naming the field; `idempotency_conflict` where the proposal is another's.
 * @example
 * const decided = await decide('lab', { question: 'Publish?', voters: ['ann', 'bob', 'cy'], quorum: 2, deadlineSeconds: 600 });
 * if (decided.type === 'decision.commit' && decided.choice === 'yes') await publish();
 */
export async function decide(room: string, proposal: ProposalOptions): Promise<DecisionOutcome> {
  const sender = senderOf(proposal);
  const { proposalId = wf.uuid4(), question, options, voters, quorum, deadlineSeconds, lingerSeconds } = proposal;
  const message = compose(decisionMessages['decision.propose'], sender, {
    type: 'decision.propose',
    proposal_id: proposalId,
    question,
    options,
    voters,
    quorum,
    deadline_seconds: deadlineSeconds,
    idempotency_key: `propose-${sha256Hex(String(proposalId))}`,
  });
  const target = proposalTarget(checkedRoom(room), message.proposal_id, lingering(lingerSeconds));
  const opened = await open(sender, target, [message], (envelope) => decision.safeParse(envelope).data);
  return await opened.outcome();
}
