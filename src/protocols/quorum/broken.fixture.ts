import { type Broken, changed, ignoring, hasty } from '../broken.fixture.ts';
import type { DecisionMessage, DecisionVote } from '../../envelope/decision.ts';
import type { Context, Decision, Protocol } from '../protocol.ts';
import { quorumProposal } from './protocol.ts';
import type { Proposal, ProposalState } from './state.ts';
import type { Property } from './observer.fixture.ts';

export type DecisionProtocol = Protocol<ProposalState, DecisionMessage>;

/** Another way to decide about votes. */
function withVote(
  decideVote: (
    state: ProposalState,
    proposal: Proposal,
    vote: DecisionVote,
    context: Context,
  ) => Decision<ProposalState>,
): DecisionProtocol {
  return {
    ...quorumProposal,
    decide: (state, input, context) =>
      input.kind === 'message' && input.message.type === 'decision.vote' && state.proposal
        ? decideVote(state, state.proposal, input.message, context)
        : quorumProposal.decide(state, input, context),
  };
}

/** What the sound protocol decides of a vote in another state. */
function inState(state: ProposalState, message: DecisionVote, context: Context): Decision<ProposalState> {
  return quorumProposal.decide(state, { kind: 'message', message }, context);
}

const oneTooFew = withVote((state, proposal, message, context) =>
  changed(
    inState({ ...state, proposal: { ...proposal, quorum: Math.max(1, proposal.quorum - 1) } }, message, context),
    (next) => ({ ...next, proposal }),
  ),
);

const anybodyVotes = withVote((state, proposal, message, context) => {
  const voters = [...new Set([...proposal.voters, message.from])];
  return inState({ ...state, proposal: { ...proposal, voters } }, message, context);
});

const anyChoice = withVote((state, proposal, message, context) => {
  const options = [...new Set([...proposal.options, message.choice])];
  return inState({ ...state, proposal: { ...proposal, options } }, message, context);
});

const votesAgain = withVote((state, proposal, message, context) => {
  const others = state.votes.filter(([voter]) => proposal.voters[voter] !== message.from);
  return changed(inState({ ...state, votes: others }, message, context), (next) => ({
    ...next,
    votes: [...state.votes, ...next.votes.slice(others.length)],
  }));
});

const decidesAgain = withVote((state, _proposal, message, context) => {
  const { ended: _, ...open } = state;
  return inState(open, message, context);
});

const neverLate: DecisionProtocol = { ...quorumProposal, nextDeadline: () => null };

const hopeful = withVote((state, _proposal, message, context) =>
  changed(inState(state, message, context), (next) => {
    const { ended, ...open } = next;
    return ended && 'reason' in ended ? open : next;
  }),
);

const forgetful = withVote((state, _proposal, message, context) =>
  changed(inState(state, message, context), (next) => (next.ended ? next : state)),
);

export const brokenProtocols: readonly Broken<ProposalState, DecisionMessage, Property>[] = [
  { name: 'a quorum of one too few', protocol: oneTooFew, breaks: 'no commit without a quorum' },
  { name: 'votes of everybody', protocol: anybodyVotes, breaks: 'only voters count' },
  { name: 'votes for anything', protocol: anyChoice, breaks: 'only voters count' },
  { name: 'a second vote of a voter', protocol: votesAgain, breaks: 'one vote each' },
  { name: 'a second decision', protocol: decidesAgain, breaks: 'at most one outcome' },
  { name: 'the deadline removed', protocol: neverLate, breaks: 'no vote at or after the deadline' },
  {
    name: 'a deadline a millisecond early',
    protocol: hasty(quorumProposal),
    breaks: 'no failure before it is certain',
  },
  { name: 'hope where nothing can win', protocol: hopeful, breaks: 'it ends as soon as it is certain' },
  { name: 'a deadline that is ignored', protocol: ignoring(quorumProposal), breaks: 'every deadline progresses' },
  { name: 'a vote that is acknowledged and forgotten', protocol: forgetful, breaks: 'the tally is what was voted' },
];
