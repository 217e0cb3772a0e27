import { z } from 'zod';

/** A proposal: its voters frozen, each vote given once, decided once. Times are epoch milliseconds. */
export const proposalState = z.object({
  proposal: z
    .object({
      proposal_id: z.string(),
      question: z.string(),
      options: z.array(z.string()),
      voters: z.array(z.string()),
      quorum: z.number(),
      proposer: z.string(),
      proposed_at: z.number(),
      deadline: z.number(),
    })
    .optional(),
  /** Who voted for what, as places in the proposal's lists, the first vote first: only ever appended to. */
  votes: z.array(z.tuple([z.number(), z.number()])),
  /** How it ended: with a choice, by its place, or without one. */
  ended: z
    .union([
      z.object({ at: z.number(), choice: z.number() }),
      z.object({ at: z.number(), reason: z.enum(['deadline', 'unreachable']) }),
      z.object({ at: z.number(), reason: z.literal('withdrawn'), by: z.string(), detail: z.string().optional() }),
    ])
    .optional(),
});
export type ProposalState = z.infer<typeof proposalState>;
export type Proposal = NonNullable<ProposalState['proposal']>;
export type Votes = ProposalState['votes'];

/** How many votes each option has, by its place. */
export function countsOf({ options }: Proposal, votes: Votes): number[] {
  const counts = options.map(() => 0);
  for (const [, choice] of votes) counts[choice] = (counts[choice] ?? 0) + 1;
  return counts;
}
