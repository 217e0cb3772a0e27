import { describe, expect, it } from 'vitest';
import type { Envelope } from '../../src/envelope/envelope.ts';
import { chatLedgerSubject } from './chatLedger.ts';
import { subjects } from './protocols.ts';
import { electionSubject } from './samples/election.ts';
import { lockSubject } from './samples/locks.ts';
import { codeOf, Drive, type Raw, type Said, type Subject } from './subject.ts';

// A message whose identity is remembered no more, after so many others; what the protocol's own state shows answers its repeat.

const OTHERS = 320;
const REQUESTS_EACH = 8;

function subjectOf(name: string): Subject {
  const found = subjects.find((each) => each.name === name);
  if (!found) throw new Error(`no subject ${name}`);
  return found;
}

const chat = 'matrix:!lab:example.org';
const exclusive: Said = {
  type: 'lock.request',
  from: 'h',
  resources: ['x'],
  lock_type: 'exclusive',
  lease_seconds: 300,
};
const waiting = (lock_type: string): Said => ({ ...exclusive, from: 'w', lock_type, wait_seconds: 600 });

interface Scenario {
  readonly name: string;
  readonly of: Subject;
  readonly before: readonly Said[];
  readonly message: Said;
  readonly answer: string;
  /** Another body of the same message; absent where the state does not show the difference. */
  readonly other?: Partial<Said>;
}

const take: Said = { type: 'bridge.take', from: 'w', chat, lease_seconds: 300, cursor: 3 };
const scenarios: readonly Scenario[] = [
  {
    name: 'an exclusive request that waits',
    of: lockSubject,
    before: [exclusive],
    message: waiting('exclusive'),
    answer: 'lock.queued',
    other: { wait_seconds: 599 },
  },
  {
    name: 'a reader that waits',
    of: lockSubject,
    before: [exclusive],
    message: waiting('read'),
    answer: 'lock.queued',
    other: { lock_type: 'write' },
  },
  {
    name: 'a lock that is held',
    of: lockSubject,
    before: [],
    message: waiting('read'),
    answer: 'lock.granted',
    other: { resources: ['x', 'y'] },
  },
  {
    name: 'a request whose cancel came before it',
    of: lockSubject,
    before: [{ type: 'lock.cancel', from: 'w', request: 'the-request' }],
    message: { ...waiting('exclusive'), idempotency_key: 'the-request' },
    answer: 'lock.cancelled',
  },
  {
    name: 'the claim of a task that is held',
    of: subjectOf('taskLease'),
    before: [{ type: 'task.announce', from: 'p', task_id: 't 1', title: 'T', lease_seconds: 600 }],
    message: { type: 'task.claim', from: 'w', task_id: 't 1', lease_seconds: 300 },
    answer: 'task.ack',
    other: { lease_seconds: 299 },
  },
  {
    name: 'the join of a candidate',
    of: electionSubject,
    before: [{ type: 'coordinator.join', from: 'a', heartbeat_seconds: 300 }],
    message: { type: 'coordinator.join', from: 'w', heartbeat_seconds: 300 },
    answer: 'coordinator.joined',
  },
  {
    name: 'the poster of a chat',
    of: chatLedgerSubject,
    before: [],
    message: take,
    answer: 'bridge.taken',
    other: { lease_seconds: 299 },
  },
];

/** Lets so many others send that `raw` is remembered as a message no more. */
function evict(drive: Drive, raw: Raw): void {
  for (let sender = 0; sender < OTHERS; sender++)
    for (let n = 0; n < REQUESTS_EACH; n++)
      drive.request(drive.message({ type: 'config.set', from: `operator:${sender}`, config: { max_waits: 3 } }));
  if (JSON.stringify(drive.host.snapshot().memory).includes(`${raw.from} ${raw.idempotency_key}`))
    throw new Error('the identity is remembered still');
}

/** Replies without what only a logged one has. */
function contents(replies: readonly Envelope[]): object[] {
  return replies.map((reply) => ({ ...reply, id: '', ts: '', seq: 0 }));
}

/** The workflow after the message was sent and evicted. */
function sent({ of, before, message, answer }: Scenario): { drive: Drive; raw: Raw; first: Envelope[] } {
  const drive = new Drive(of);
  for (const say of before) drive.request(drive.message(say));
  const raw = drive.message(message);
  const first = drive.request(raw);
  if (first[0]?.type !== answer) throw new Error(`it was answered ${JSON.stringify(first)}`);
  evict(drive, raw);
  return { drive, raw, first };
}

describe.each(scenarios)('$name, sent again after its identity was evicted', (scenario) => {
  it.each([false, true])('is answered the same, and nothing is done (in a new run: %s)', (restart) => {
    const { drive, raw, first } = sent(scenario);
    if (restart) drive.restart();
    const stands = drive.standing;
    for (const id of [raw.id, 'another']) {
      const expected = first.map((reply) => ({ ...reply, in_reply_to: id }));
      expect(contents(drive.request({ ...raw, id, ts: 'later' }))).toEqual(contents(expected));
    }
    expect(drive.standing).toBe(stands);
  });
});

it.each(scenarios.filter(({ other }) => other))('$name is a conflict with another body', (scenario) => {
  const { drive, raw } = sent(scenario);
  const stands = drive.standing;
  expect(codeOf(drive.request({ ...raw, ...scenario.other }))).toBe('idempotency_conflict');
  expect(drive.standing).toBe(stands);
});

describe('a waiter that repeats its request after its identity was evicted', () => {
  it.each(['exclusive', 'read'])('is granted its %s lock once, and leaves no second place', (kind) => {
    const drive = new Drive(lockSubject);
    drive.request(drive.message(exclusive));
    const raw = drive.message(waiting(kind));
    drive.request(raw);
    evict(drive, raw);
    expect(drive.request(raw)).toMatchObject([{ type: 'lock.queued', lock_id: 'l-2', position: 1, blocked_by: ['h'] }]);
    drive.request(drive.message({ type: 'lock.release', from: 'h', lock_id: 'l-1' }));
    // What the wait has become is added to the first answer.
    expect(drive.request(raw).map(({ type, lock_id }) => [type, lock_id])).toEqual([
      ['lock.queued', 'l-2'],
      ['lock.granted', 'l-2'],
    ]);
    expect(drive.host.view(undefined, drive.now)).toMatchObject({ held: 1, waiting: 0 });
    drive.request(drive.message({ type: 'lock.release', from: 'w', lock_id: 'l-2' }));
    expect(drive.host.view(undefined, drive.now)).toMatchObject({ held: 0, waiting: 0 });
  });
});
