import { stateStore } from '../../../src/protocols/state-store/protocol.ts';
import { subject, type Said, type Step } from '../subject.ts';

// A namespace of state: writes, a conflict, a transaction, a key that expires, one that is bound to a lock.

const cfg = { namespace: 'cfg' };
type Sent = Extract<Step, { say: Said }>;

function put(from: string, key: string, value: Said[string], more: object = {}): Sent {
  return { say: { type: 'state.put', from, ...cfg, key, value, ...more }, answer: 'state.stored', quiet: true };
}
function say(verb: string, from: string, fields: object): Said {
  return { type: `state.${verb}`, from, ...cfg, ...fields };
}
const txn = say('txn', 'bob', {
  checks: [{ key: 'a', version: 1 }],
  writes: [
    { op: 'put', key: 'a', value: [1, null] },
    { op: 'delete', key: 'b' },
  ],
});

export const stateSubject = subject(stateStore, {
  workflowId: 'synod:lab:state:cfg',
  script: [
    put('ann', 'a', { n: 1 }),
    put('bob', 'b', null, { ttl_seconds: 60 }),
    { say: txn, answer: 'state.committed', quiet: true },
    put('cleo', 'c', 'x', { if_version: 0, ttl_seconds: 10 }),
    { say: say('lease', 'cleo', { key: 'c', lock_id: 'l-1', token: 3 }), answer: 'state.bound', quiet: true },
    put('cleo', 'c', 'y', { token: 4, ttl_seconds: 10 }),
    { deadline: 'state.expired' },
    { say: say('delete', 'ann', { key: 'a', if_version: 3 }), answer: 'state.deleted', quiet: true },
    put('ann', '__proto__', 'kept'),
  ],
  messages: [
    put('ann', 'a', 1).say,
    say('delete', 'ann', { key: 'a' }),
    say('get', 'ann', { keys: ['a'] }),
    say('list', 'ann', {}),
    txn,
    say('lease', 'ann', { key: 'a', lock_id: 'l-1', token: 1 }),
  ],
  refused: { say: say('lease', 'dan', { key: 'absent', lock_id: 'l-1', token: 1 }), code: 'unknown' },
  foreign: [{ namespace: 'Cfg' }, { namespace: 'cfg ' }, { room: 'elsewhere' }, { room: null }],
  deadlines: [
    {
      name: 'the life of a key',
      steps: [put('ann', 'a', 1, { ttl_seconds: 10 })],
      say: say('delete', 'bob', { key: 'a', if_version: 1 }),
      before: 'state.deleted',
      after: 'state.conflict',
    },
  ],
  storm: (n) => put(`w${n % 300}`, `k${n % 90}`, `${n} ${'é'.repeat(n % 1_900)}`, { ttl_seconds: 3_600 + n }).say,
});
