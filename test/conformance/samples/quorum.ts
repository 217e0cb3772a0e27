import { quorumProposal } from '../../../src/protocols/quorum/protocol.ts';
import { CONFIGURE, subject, type Said, type Step } from '../subject.ts';

// A proposal: three voters of five, of whom one votes against, until the quorum of three is reached.

const proposal = { proposal_id: 'p 1' };
const voters = ['bob', 'cleo', 'dan', 'eve', 'fay'];
const propose: Step = {
  say: {
    type: 'decision.propose',
    from: 'ann',
    ...proposal,
    question: 'Publish the report?',
    options: ['yes', 'no', '__proto__'],
    voters,
    quorum: 3,
    deadline_seconds: 60,
  },
  answer: 'decision.accepted',
  kept: true,
};

function vote(from: string, choice: string, more: object = {}): Said {
  return { type: 'decision.vote', from, ...proposal, choice, ...more };
}

function voted(from: string, choice: string): Step {
  return { say: vote(from, choice), answer: 'decision.voted', kept: true };
}

export const quorumSubject = subject(quorumProposal, {
  workflowId: 'synod:lab:proposal:p%201',
  script: [
    propose,
    voted('bob', 'yes'),
    voted('cleo', '__proto__'),
    { say: vote('bob', 'yes'), answer: 'decision.voted', quiet: true },
    voted('dan', 'yes'),
    voted('eve', 'yes'),
  ],
  messages: [
    propose.say,
    vote('fay', 'no', { reason: 'too early' }),
    { type: 'decision.withdraw', from: 'ann', ...proposal },
  ],
  refused: { say: vote('zed', 'yes'), code: 'not_eligible' },
  foreign: [{ proposal_id: 'p  1' }, { proposal_id: 'P 1' }, { room: 'elsewhere' }, { room: null }],
  deadlines: [
    {
      name: 'the deadline',
      steps: [propose, voted('bob', 'yes'), voted('cleo', 'yes')],
      say: vote('dan', 'yes'),
      before: 'decision.voted',
      after: 'closed',
    },
  ],
  // Two may vote, or it would be decided; the rest is the same votes again, and what an operator sends.
  storm: (n) => {
    if (n % 4 > 1 && n > 1) return { ...CONFIGURE, from: `operator:o${n % 300}` };
    return n % 4 === 0 ? vote('bob', 'yes') : n === 1 ? vote('cleo', 'no') : { ...CONFIGURE, from: 'operator:o' };
  },
});
