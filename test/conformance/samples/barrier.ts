import { barrier } from '../../../src/protocols/barrier/protocol.ts';
import { CONFIGURE, subject, type Said, type Step } from '../subject.ts';

// A barrier opened in two parts: it is escalated, extended and escalated again, one leaves, and the last one comes.

const phase = { phase: 'sort 1' };
const opening: Said = {
  type: 'barrier.open',
  from: 'ann',
  ...phase,
  roster: ['bob', 'cleo', 'dan'],
  timeout_seconds: 60,
  fallback: 'escalate',
  more: true,
};
const open: Step = { say: opening, answer: 'barrier.accepted', kept: true };
const lastPart: Step = {
  say: { type: 'barrier.roster', from: 'ann', ...phase, roster: ['eve', '7'] },
  answer: 'barrier.accepted',
  kept: true,
};

function comes(from: string, more: object = {}): Said {
  return { type: 'barrier.checkin', from, ...phase, ...more };
}

function came(from: string): Step {
  return { say: comes(from), answer: 'barrier.waiting', kept: true };
}

function resolve(action: string, more: object = {}): Said {
  return { type: 'barrier.resolve', from: 'operator:jo', ...phase, action, ...more };
}

function opened(fallback: string, more: object = {}): Step {
  return { ...open, say: { ...opening, fallback, more: false, ...more } };
}

export const barrierSubject = subject(barrier, {
  workflowId: 'synod:lab:barrier:sort%201',
  script: [
    open,
    came('bob'),
    lastPart,
    { say: comes('bob'), answer: 'barrier.waiting', quiet: true },
    { deadline: 'barrier.escalated' },
    came('7'),
    { say: resolve('extend', { extend_seconds: 5 }), answer: 'barrier.accepted' },
    { say: { type: 'barrier.leave', from: 'cleo', ...phase }, answer: 'barrier.accepted', kept: true },
    { say: { type: 'barrier.leave', from: 'cleo', ...phase }, answer: 'barrier.accepted', quiet: true },
    { deadline: 'barrier.escalated' },
    came('dan'),
    came('eve'),
  ],
  messages: [
    opening,
    { type: 'barrier.roster', from: 'ann', ...phase, roster: ['fay'], more: true },
    comes('dan', { note: 'sorted 3' }),
    { type: 'barrier.leave', from: 'dan', ...phase },
    resolve('extend', { extend_seconds: 5 }),
  ],
  refused: { say: comes('zed'), code: 'not_eligible' },
  foreign: [{ phase: 'sort  1' }, { phase: 'Sort 1' }, { room: 'elsewhere' }, { room: null }],
  deadlines: [
    {
      name: 'the time-out, escalating',
      steps: [open],
      say: comes('bob'),
      before: 'barrier.waiting',
      after: 'barrier.waiting',
    },
    {
      name: 'the time-out, failing',
      steps: [opened('fail')],
      say: comes('bob'),
      before: 'barrier.waiting',
      after: 'closed',
    },
    {
      name: 'the time-out, proceeding',
      steps: [opened('proceed', { quorum: 1 }), came('cleo')],
      say: comes('bob'),
      before: 'barrier.waiting',
      after: 'closed',
    },
    {
      name: 'an extension',
      steps: [open, { say: resolve('extend'), answer: 'barrier.accepted' }],
      say: comes('bob'),
      before: 'barrier.waiting',
      after: 'barrier.waiting',
    },
  ],
  // The roster is never complete: two come, and come again, and an operator sends the rest.
  storm: (n) => {
    if (n < 2 || n % 4 === 0) return n % 2 === 0 ? comes('bob') : comes('cleo', { note: 'ready' });
    return n % 4 === 2 ? resolve('extend', { extend_seconds: n }) : { ...CONFIGURE, from: `operator:o${n % 300}` };
  },
});
