import { chatLedger } from '../../src/protocols/bridge/protocol.ts';
import { subject, type Said, type Step } from './subject.ts';

// The ledger of a chat: one bridge posts, a text in two parts among others, and another takes over.

const chat = 'matrix:!lab:example.org';

function by(from: string, verb: string, epoch: number, more: object = {}): Said {
  return { type: `bridge.${verb}`, from, chat, epoch, ...more };
}
const take = (from: string): Said => ({ type: 'bridge.take', from, chat, lease_seconds: 15, cursor: 3 });
const send = (from: string, epoch: number, more: object = {}): Said =>
  by(from, 'send', epoch, { after: 3, part: 0, key: 'a', text: 'ann: hello', last: 4, parts: 1, whole: 'w', ...more });
const settle = (from: string, epoch: number, key: string): Said =>
  by(from, 'settle', epoch, { key, outcome: 'posted', post_id: '$1' });
const renewed = (say: Said): Step => ({ say, answer: 'bridge.renewed', quiet: true });

export const chatLedgerSubject = subject(chatLedger, {
  workflowId: 'synod:lab:bridge:matrix%3A%21lab%3Aexample.org',
  script: [
    { say: take('b1'), answer: 'bridge.taken', quiet: true },
    renewed(send('b1', 1)),
    renewed(settle('b1', 1, 'a')),
    renewed(by('b1', 'renew', 1, { cursor: 5, heard: 's1' })),
    renewed(send('b1', 1, { key: 'b', after: 5, last: 6, parts: 2 })),
    renewed(settle('b1', 1, 'b')),
    renewed(send('b1', 1, { key: 'c', after: 5, last: 6, part: 1, parts: 2 })),
    { say: by('b1', 'release', 1), answer: 'bridge.released', quiet: true },
    { say: take('b2'), answer: 'bridge.taken', quiet: true },
    renewed(settle('b2', 2, 'c')),
  ],
  messages: [
    take('b1'),
    by('b1', 'renew', 1, { cursor: 4, heard: 's1' }),
    send('b1', 1),
    settle('b1', 1, 'a'),
    by('b1', 'release', 1),
  ],
  refused: { say: take('b2'), code: 'held' },
  foreign: [{ chat: 'matrix:!LAB:example.org' }, { chat: 'slack:C1' }, { room: 'elsewhere' }, { room: null }],
  deadlines: [],
  silent: true,
  storm: (n) => by('b1', 'renew', 1, { cursor: n, heard: 'é'.repeat(n % 1_000) }),
});
