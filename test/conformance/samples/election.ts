import { coordinatorElection } from '../../../src/protocols/election/protocol.ts';
import { subject, type Said, type Step } from '../subject.ts';

// An election: a coordinator that resigns, one that leaves, one that is lost; a role that is vacant and taken again.

function join(from: string, heartbeat_seconds = 10): Extract<Step, { say: Said }> {
  return { say: { type: 'coordinator.join', from, heartbeat_seconds }, answer: 'coordinator.joined' };
}
function leading(verb: string, from: string, epoch: number, more: object = {}): Said {
  return { type: `coordinator.${verb}`, from, epoch, ...more };
}
const directive = { directive: { sort: ['letters', 1, null] } };

export const electionSubject = subject(coordinatorElection, {
  workflowId: 'synod:lab:coordinator:main',
  script: [
    join('bob'),
    join('ann'),
    { ...join('ann', 5), quiet: true },
    { say: leading('heartbeat', 'bob', 1), answer: 'coordinator.alive', quiet: true },
    { say: leading('directive', 'bob', 1, directive), answer: 'coordinator.accepted' },
    { say: leading('resign', 'bob', 1), answer: 'coordinator.resigned' },
    join('bob'),
    { say: { type: 'coordinator.leave', from: 'ann' }, answer: 'coordinator.resigned' },
    join('cleo'),
    { say: { type: 'coordinator.leave', from: 'cleo' }, answer: 'coordinator.left' },
    { deadline: 'coordinator.lost' },
    join('cleo'),
    { say: leading('directive', 'cleo', 4, directive), answer: 'coordinator.accepted' },
  ],
  messages: [
    join('bob').say,
    leading('heartbeat', 'bob', 1),
    leading('directive', 'bob', 1, directive),
    leading('resign', 'bob', 1),
    { type: 'coordinator.leave', from: 'bob' },
  ],
  refused: { say: { type: 'coordinator.leave', from: 'dan' }, code: 'not_eligible' },
  foreign: [{ role: 'Main' }, { role: 'main ' }, { room: 'elsewhere' }, { room: null }],
  deadlines: ['heartbeat', 'resign', 'directive'].map((verb) => ({
    name: `the leadership, ${verb}`,
    steps: [join('bob'), join('ann')],
    say: leading(verb, 'bob', 1, verb === 'directive' ? directive : {}),
    before: { heartbeat: 'coordinator.alive', resign: 'coordinator.resigned' }[verb] ?? 'coordinator.accepted',
    after: 'not_holder',
  })),
  storm: (n) =>
    n % 2 === 0
      ? join(`w${n % 600}`).say
      : leading('directive', 'bob', 1, { directive: `${n} ${'é'.repeat(n % 4_000)}` }),
});
