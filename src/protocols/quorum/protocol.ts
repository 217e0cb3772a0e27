import {
  decisionMessages,
  type DecisionMessage,
  type DecisionPropose,
  type DecisionVote,
} from '../../envelope/decision.ts';
import { OPERATOR_PREFIX } from '../../envelope/envelope.ts';
import { toMilliseconds } from '../../envelope/fields.ts';
import { refusal } from '../../envelope/refusal.ts';
import { rules, type Context, type Decision, type Protocol } from '../protocol.ts';
import { answer, outcomeOf, since } from './answers.ts';
import { countsOf, proposalState, type Proposal, type ProposalState, type Votes } from './state.ts';
import { boardRowOf, detailsOf, viewOf } from './view.ts';

/** Source of the rules: "Group Coordination Among Autonomous Agents", quorum decisions, and the wire contract's table. */
export const quorumProposal: Protocol<ProposalState, DecisionMessage> = {
  workflowType: 'quorumProposal',
  kind: 'proposal',
  area: 'decision',
  nameField: 'proposal_id',
  opening: 'decision.propose',
  messages: rules<DecisionMessage>(decisionMessages),
  config: {},
  state: proposalState,
  urgent: new Set(['decision.commit', 'decision.failed']),

  initial: () => ({ votes: [] }),

  decide(state, input, context) {
    switch (input.kind) {
      case 'message':
        return input.message.type === 'decision.propose'
          ? propose(input.message, context)
          : onMessage(state, input.message, context);
      case 'deadline':
        return onDeadline(state, context);
      default:
        return { state };
    }
  },

  answer,
  since,

  nextDeadline({ proposal, ended }) {
    return proposal && !ended ? { at: proposal.deadline, summary: 'the votes must be in' } : null;
  },

  view: viewOf,
  details: detailsOf,
  row: boardRowOf,
  outcome: outcomeOf,
  involves: ({ proposal, ended }, agent) =>
    !ended && proposal !== undefined && (proposal.proposer === agent || proposal.voters.includes(agent)),
};

function propose(message: DecisionPropose, { now }: Context): Decision<ProposalState> {
  const { proposal_id, question, options, voters, quorum } = message;
  const deadline = now + toMilliseconds(message.deadline_seconds);
  return {
    state: {
      proposal: { proposal_id, question, options, voters, quorum, proposer: message.from, proposed_at: now, deadline },
      votes: [],
    },
    verdict: ['accepted'],
    pin: true,
  };
}

function onMessage(
  state: ProposalState,
  message: Exclude<DecisionMessage, DecisionPropose>,
  context: Context,
): Decision<ProposalState> {
  const { proposal, ended } = state;
  if (!proposal) return { refuse: refusal('closed', `proposal ${message.proposal_id} was never made`) };
  if (ended && 'choice' in ended) {
    const choice = proposal.options[ended.choice] ?? '';
    return { refuse: refusal('already_decided', `proposal ${message.proposal_id} was decided: "${choice}"`) };
  }
  if (ended) return { refuse: refusal('closed', `proposal ${message.proposal_id} has failed: ${ended.reason}`) };
  if (message.type === 'decision.vote') return vote(state, proposal, message, context);
  if (message.from !== proposal.proposer && !message.from.startsWith(OPERATOR_PREFIX)) {
    const reason = `only the proposer ${proposal.proposer} or an operator may withdraw proposal ${proposal.proposal_id}`;
    return { refuse: refusal('unauthorized', reason) };
  }
  const detail = message.reason === undefined ? {} : { detail: message.reason };
  return {
    state: { ...state, ended: { at: context.now, reason: 'withdrawn', by: message.from, ...detail } },
    verdict: ['withdrawn'],
    pin: true,
  };
}

function vote(
  state: ProposalState,
  proposal: Proposal,
  message: DecisionVote,
  { now }: Context,
): Decision<ProposalState> {
  const choice = proposal.options.indexOf(message.choice);
  if (choice < 0)
    return { refuse: refusal('invalid_envelope', `choice must be an option of proposal ${proposal.proposal_id}`) };
  const voter = proposal.voters.indexOf(message.from);
  if (voter < 0)
    return { refuse: refusal('not_eligible', `${message.from} is no voter of proposal ${proposal.proposal_id}`) };
  const earlier = state.votes.find(([who]) => who === voter);
  if (earlier && earlier[1] !== choice) {
    const voted = proposal.options[earlier[1]] ?? '';
    return { refuse: refusal('already_voted', `${message.from} has voted for "${voted}"`) };
  }
  if (earlier) return { state, verdict: ['voted', state.votes.length], quiet: true };
  const votes: Votes = [...state.votes, [voter, choice]];
  const next = { proposal, votes };
  if ((countsOf(proposal, votes)[choice] ?? 0) >= proposal.quorum)
    return { state: { ...next, ended: { at: now, choice } }, verdict: ['decided', votes.length], pin: true };
  if (!reachable(proposal, votes))
    return {
      state: { ...next, ended: { at: now, reason: 'unreachable' } },
      verdict: ['decided', votes.length],
      pin: true,
    };
  return { state: next, verdict: ['voted', votes.length], pin: true };
}

/** Whether some option can still get the quorum: with the votes of all who have not voted. */
function reachable(proposal: Proposal, votes: Votes): boolean {
  const open = proposal.voters.length - votes.length;
  return countsOf(proposal, votes).some((count) => count + open >= proposal.quorum);
}

function onDeadline(state: ProposalState, { now }: Context): Decision<ProposalState> {
  if (!state.proposal || state.ended || state.proposal.deadline > now) return { state };
  const next: ProposalState = { ...state, ended: { at: now, reason: 'deadline' } };
  const outcome = outcomeOf(next);
  return { state: next, emit: outcome ? [outcome] : [] };
}
