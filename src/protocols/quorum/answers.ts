import { fromNames, type ByName } from '../../envelope/byName.ts';
import type { DecisionMessage } from '../../envelope/decision.ts';
import type { Json } from '../../envelope/fields.ts';
import type { Outgoing, Verdict } from '../protocol.ts';
import { countsOf, type Proposal, type ProposalState, type Votes } from './state.ts';

/** An emission without what is undefined. */
type Outcome = { type: string; [field: string]: Json };

/** How many votes each option has, by its name. */
export function tallyOf(proposal: Proposal, votes: Votes): ByName<number> {
  const counts = countsOf(proposal, votes);
  return fromNames(proposal.options.map((option, place) => [option, counts[place] ?? 0]));
}

/** Who voted for what. */
export function votesOf({ voters, options }: Proposal, votes: Votes): ByName<string> {
  return fromNames(votes.map(([voter, choice]) => [voters[voter] ?? '', options[choice] ?? '']));
}

/** The last emission of a proposal that has ended. */
export function outcomeOf({ proposal, votes, ended }: ProposalState): Outcome | undefined {
  if (!proposal || !ended) return undefined;
  const about = { proposal_id: proposal.proposal_id };
  const tally = tallyOf(proposal, votes);
  if ('choice' in ended) {
    const choice = proposal.options[ended.choice] ?? '';
    return { type: 'decision.commit', ...about, choice, tally, votes: votesOf(proposal, votes) };
  }
  const { reason } = ended;
  if (reason !== 'withdrawn') return { type: 'decision.failed', ...about, reason, tally };
  const { by, detail } = ended;
  return { type: 'decision.failed', ...about, reason, by, ...(detail === undefined ? {} : { detail }), tally };
}

/** The replies that a verdict stands for. A vote's verdict has how many had been given with it. */
export function answer(message: DecisionMessage, verdict: Verdict, state: ProposalState): readonly Outgoing[] {
  const { from: to, proposal_id } = message;
  const [kind, count] = verdict;
  const outcome = outcomeOf(state);
  switch (kind) {
    case 'accepted':
      return [{ type: 'decision.accepted', to, proposal_id }];
    case 'voted':
      return voted(state, to, Number(count));
    case 'decided':
      return [...voted(state, to, Number(count)), ...(outcome ? [outcome] : [])];
    case 'withdrawn':
      return outcome ? [outcome] : [];
    default:
      return [];
  }
}

function voted({ proposal, votes }: ProposalState, to: string, count: number): Outgoing[] {
  if (!proposal) return [];
  const given = votes.slice(0, count);
  const place = proposal.voters.indexOf(to);
  const own = given.find(([voter]) => voter === place);
  const choice = own ? { choice: proposal.options[own[1]] } : {};
  return [
    { type: 'decision.voted', to, proposal_id: proposal.proposal_id, ...choice, tally: tallyOf(proposal, given) },
  ];
}

/** What became of a message since it was answered: how it ended, or the votes of now. */
export function since(state: ProposalState, message: DecisionMessage, verdict: Verdict): readonly Outgoing[] {
  const [kind, count = 0] = verdict;
  if (kind !== 'accepted' && kind !== 'voted') return [];
  const outcome = outcomeOf(state);
  if (outcome) return [outcome];
  return state.votes.length > Number(count) ? voted(state, message.from, state.votes.length) : [];
}
