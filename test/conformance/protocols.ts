import { room } from '../../src/protocols/room/protocol.ts';
import { taskLease } from '../../src/protocols/task-lease/protocol.ts';
import { chatLedgerSubject } from './chatLedger.ts';
import { electionSubject } from './samples/election.ts';
import { barrierSubject } from './samples/barrier.ts';
import { quorumSubject } from './samples/quorum.ts';
import { lockSubject } from './samples/locks.ts';
import { stateSubject } from './samples/stateStore.ts';
import { subject, type Said, type Step, type Subject } from './subject.ts';

// A task lease: two agents, a lease that expires, a failure, a hand-over, a completion.

const task = { task_id: 't 1' };
const announce: Step = {
  say: { type: 'task.announce', from: 'ann', ...task, title: 'Sort', input: { n: [1, null] }, max_attempts: 9 },
  answer: 'task.accepted',
  kept: true,
};

function claim(from: string): Step {
  return { say: { type: 'task.claim', from, ...task }, answer: 'task.ack' };
}

function held(type: string, from: string, attempt: number, more: object = {}): Said {
  return { type, from, ...task, attempt, ...more };
}

const taskSubject = subject(taskLease, {
  workflowId: 'synod:lab:task:t%201',
  script: [
    announce,
    { deadline: 'task.unclaimed' },
    claim('bob'),
    { say: { type: 'task.claim', from: 'cleo', ...task }, answer: 'task.closed', quiet: true },
    { say: held('task.renew', 'bob', 1, { lease_seconds: 100 }), answer: 'task.renewed', quiet: true },
    { deadline: 'task.expired' },
    claim('cleo'),
    { say: held('task.release', 'cleo', 2), answer: 'task.announce' },
    claim('bob'),
    { say: held('task.fail', 'bob', 3, { reason: 'no ink' }), answer: 'task.announce' },
    claim('cleo'),
    { say: held('task.complete', 'cleo', 4, { result: { sorted: true } }), answer: 'task.completed', kept: true },
  ],
  messages: [
    announce.say,
    { type: 'task.claim', from: 'bob', ...task },
    held('task.renew', 'bob', 1),
    held('task.complete', 'bob', 1),
    held('task.fail', 'bob', 1, { reason: 'no ink' }),
    held('task.release', 'bob', 1),
    { type: 'task.cancel', from: 'ann', ...task },
  ],
  refused: { say: held('task.complete', 'dan', 1), code: 'not_holder' },
  foreign: [{ task_id: 't  1' }, { task_id: 'T 1' }, { room: 'elsewhere' }, { room: null }],
  deadlines: [
    {
      name: 'the lease',
      steps: [announce, claim('bob')],
      say: held('task.renew', 'bob', 1),
      before: 'task.renewed',
      after: 'stale_token',
    },
    {
      name: 'the lease, completing',
      steps: [announce, claim('bob')],
      say: held('task.complete', 'bob', 1),
      before: 'task.completed',
      after: 'stale_token',
    },
    {
      name: 'the last lease',
      steps: [{ ...announce, say: { ...announce.say, max_attempts: 1 } }, claim('bob')],
      say: held('task.complete', 'bob', 1),
      before: 'task.completed',
      after: 'closed',
    },
    {
      name: 'the announcement',
      steps: [{ ...announce, say: { ...announce.say, expires_at: '2026-01-01T00:00:30Z' } }],
      say: { type: 'task.claim', from: 'bob', ...task },
      before: 'task.ack',
      after: 'closed',
    },
  ],
  storm: (n) => {
    const from = `w${Math.floor(n / 2) % 300}`;
    return n % 2 === 0 ? { type: 'task.claim', from, ...task } : held('task.release', from, (n + 1) / 2);
  },
});

// A room: introductions, posts, and what a task of it publishes.

const source = 'synod:lab:task:t';
const since = '2026-01-01T00:00:00.000Z';

function published(seq: number, status: string, final?: true): Step {
  const envelope = { type: 'task.event', id: `x${seq}`, from: 'synod', ts: since, seq };
  const row = { id: 't', kind: 'task', status, since };
  return { publish: { source, events: [{ seq, envelope }], row, ...(final ? { final } : {}) } };
}

const join: Step = {
  say: { type: 'room.join', from: 'ann', kind: 'worker', purpose: 'sorting', capabilities: ['sort'] },
  answer: 'room.accepted',
};
const pause: Step = { say: { type: 'room.pause', from: 'operator:jo', reason: 'lunch' }, answer: 'room.accepted' };
const resume: Step = { say: { type: 'room.resume', from: 'operator:jo' }, answer: 'room.accepted' };
const post: Step = { say: { type: 'room.post', from: 'bob', text: 'hello' }, answer: 'room.accepted' };

const roomSubject = subject(room, {
  workflowId: 'synod:lab:room',
  script: [
    join,
    published(1, 'open'),
    post,
    { ...join, quiet: true },
    published(2, 'held'),
    { say: { ...join.say, purpose: 'counting' }, answer: 'room.accepted' },
    pause,
    { ...pause, quiet: true },
    published(3, 'completed', true),
    post,
    resume,
    { ...resume, quiet: true },
  ],
  messages: [join.say, post.say, pause.say, resume.say],
  foreign: [{ room: 'elsewhere' }, { room: null }],
  deadlines: [
    {
      name: 'an ended source',
      steps: [join, published(1, 'completed', true)],
      say: post.say,
      before: 'room.accepted',
      after: 'room.accepted',
    },
  ],
  storm: (n): Said =>
    n % 2 === 0
      ? { type: 'room.post', from: `w${n % 300}`, text: `${n} ${'é'.repeat(n % 4_000)}`.slice(0, 4_000) }
      : { type: 'room.join', from: `w${n}`, kind: 'worker', purpose: '日'.repeat(n % 700) },
});

/** Every protocol. A new one passes the suite by one entry here. */
export const subjects: readonly Subject[] = [
  taskSubject,
  electionSubject,
  quorumSubject,
  barrierSubject,
  lockSubject,
  roomSubject,
  chatLedgerSubject,
  stateSubject,
];
