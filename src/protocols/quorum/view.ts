import { formatTimestamp, type Json } from '../../envelope/fields.ts';
import type { BoardRow } from '../../envelope/room.ts';
import { clock, plain } from '../../envelope/plain.ts';
import { outcomeOf, tallyOf, votesOf } from './answers.ts';
import { countsOf, type ProposalState } from './state.ts';

/** `unopened`, `open`, or how it ended: `committed`, `failed`. */
export function statusOf({ proposal, ended }: ProposalState): string {
  if (!ended) return proposal ? 'open' : 'unopened';
  return 'choice' in ended ? 'committed' : 'failed';
}

export function viewOf(state: ProposalState): { [field: string]: Json } {
  const { proposal, votes } = state;
  const status = statusOf(state);
  if (!proposal) return { status };
  const outcome = outcomeOf(state);
  return {
    status,
    proposal_id: proposal.proposal_id,
    question: proposal.question,
    proposer: proposal.proposer,
    options: proposal.options,
    voters: proposal.voters,
    quorum: proposal.quorum,
    proposed_at: formatTimestamp(proposal.proposed_at),
    deadline: formatTimestamp(proposal.deadline),
    tally: tallyOf(proposal, votes),
    votes: votesOf(proposal, votes),
    ...(outcome ? { outcome } : {}),
  };
}

export function detailsOf(state: ProposalState): string {
  const { proposal, votes, ended } = state;
  if (!proposal) return 'Not proposed yet.';
  const counts = countsOf(proposal, votes);
  const tally = proposal.options.map((option, place) => `${plain(option)} ${counts[place] ?? 0}`).join(', ');
  const summary = `${votes.length} of ${proposal.voters.length} voters have voted (${tally}); the quorum is ${proposal.quorum}.`;
  return [
    ...(ended && 'choice' in ended
      ? [`Decided at ${clock(ended.at)}: "${plain(proposal.options[ended.choice] ?? '')}".`]
      : []),
    ...(ended && 'reason' in ended ? [`Failed at ${clock(ended.at)}: ${ended.reason}.`] : []),
    ...(ended ? [] : [`Open for votes until ${clock(proposal.deadline)}.`]),
    summary,
    `"${plain(proposal.question)}", proposed by ${proposal.proposer} at ${clock(proposal.proposed_at)}.`,
  ].join('\n');
}

export function boardRowOf(state: ProposalState): BoardRow | undefined {
  const { proposal, ended } = state;
  if (!proposal) return undefined;
  return {
    id: proposal.proposal_id,
    kind: 'proposal',
    status: statusOf(state),
    since: formatTimestamp(ended?.at ?? proposal.proposed_at),
  };
}
