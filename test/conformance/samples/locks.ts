import { lockManager } from '../../../src/protocols/lock/protocol.ts';
import { subject, type Said, type Step } from '../subject.ts';

// Locks: two agents and a reader, a wait that ends in a grant, one that ends in vain, a lease and a rollback that end.

function request(from: string, resources: string[], lock_type: string, more: object = {}): Said {
  return { type: 'lock.request', from, resources, lock_type, ...more };
}

function about(type: string, from: string, lock_id: string, more: object = {}): Said {
  return { type: `lock.${type}`, from, lock_id, ...more };
}

const held: Step = { say: request('abe', ['a', 'b'], 'exclusive'), answer: 'lock.granted' };
const waits: Step = { say: request('bob', ['a', 'b'], 'write'), answer: 'lock.queued' };
const force: Said = about('force_release', 'operator:jo', 'l-1', { reason: 'stuck' });

export const lockSubject = subject(lockManager, {
  workflowId: 'synod:lab:locks',
  script: [
    held,
    { say: request('abe', ['b', 'a', 'b'], 'read'), answer: 'lock.granted', quiet: true },
    waits,
    { say: request('cleo', ['a'], 'read', { wait_seconds: 0 }), answer: 'lock.denied', quiet: true },
    { say: about('renew', 'abe', 'l-1', { lease_seconds: 100 }), answer: 'lock.renewed', quiet: true },
    { say: about('release', 'abe', 'l-1'), answer: 'lock.released' },
    { say: request('abe', ['b'], 'exclusive', { priority: 1, scope: 2 }), answer: 'lock.queued' },
    { say: request('cleo', ['b'], 'exclusive', { wait_seconds: 20 }), answer: 'lock.queued' },
    { say: { type: 'lock.cancel', from: 'zoe', request: 'never-came' }, answer: 'lock.cancelled' },
    { deadline: 'lock.denied' },
    { say: about('cancel', 'cleo', 'l-4'), answer: 'lock.cancelled' },
    { deadline: 'lock.expired' },
    { say: request('cleo', ['a'], 'exclusive', { wait_seconds: 30 }), answer: 'lock.queued' },
    { deadline: 'lock.granted' },
    { say: { ...force, lock_id: 'l-5' }, answer: 'lock.accepted' },
  ],
  messages: [
    held.say,
    about('renew', 'abe', 'l-1', { lease_seconds: 9 }),
    about('release', 'abe', 'l-1'),
    about('cancel', 'abe', 'l-1'),
    force,
  ],
  refused: { say: about('release', 'dan', 'l-1'), code: 'not_holder' },
  foreign: [{ room: 'elsewhere' }, { room: null }],
  deadlines: [
    {
      name: 'a lease',
      steps: [held],
      say: about('renew', 'abe', 'l-1'),
      before: 'lock.renewed',
      after: 'not_holder',
    },
    {
      name: 'a wait',
      steps: [held, waits],
      say: about('cancel', 'bob', 'l-2'),
      before: 'lock.cancelled',
      after: 'not_holder',
    },
    {
      name: 'the time of a rollback',
      steps: [held, { deadline: 'lock.expired' }],
      say: request('bob', ['a'], 'read', { wait_seconds: 0 }),
      before: 'lock.denied',
      after: 'lock.granted',
    },
  ],
  storm: (n) => {
    const from = `w${Math.floor(n / 2) % 300}`;
    if (n % 2 === 0) return request(from, [`r${n % 600}`, 'ü'.repeat((n % 90) + 1)], 'exclusive');
    return about('release', from, `l-${(n + 1) / 2 + 1}`);
  },
});
