import { describe, expect, it } from 'vitest';
import { held, TaskDrive } from './task.fixture.ts';

describe('task.announce', () => {
  it('is logged for the room with attempt 1', () => {
    const task = new TaskDrive();
    const logged: unknown[] = [];
    task.host.receive({ agents: ['zoe'], after: 0, wait_seconds: 0, limit: 1 }, 0, ({ events }) =>
      logged.push(...events),
    );
    expect(logged).toMatchObject([
      { seq: 1, envelope: { type: 'task.announce', from: 'ann', attempt: 1, priority: 3 } },
    ]);
    expect(logged).not.toHaveProperty('0.envelope.to');
  });

  it('stands on the board until the task is final', () => {
    const task = new TaskDrive({ priority: 1, capabilities: ['sort'] });
    const row = { id: 't', kind: 'task', priority: 1, capabilities: ['sort'] };
    expect(task.host.row).toEqual({ ...row, status: 'open', since: '1970-01-01T00:00:00.000Z' });
    task.at(5).say('bob', 'claim');
    expect(task.host.row).toEqual({ ...row, status: 'held', holder: 'bob', since: '1970-01-01T00:00:05.000Z' });
    task.at(10).say('bob', 'release', { attempt: 1 });
    expect(task.host.row).toEqual({ ...row, status: 'open', since: '1970-01-01T00:00:00.000Z' });
    task.at(5).say('bob', 'claim');
    task.say('bob', 'complete', { attempt: 2 });
    expect(task.host.row).toEqual({ ...row, status: 'completed', since: '1970-01-01T00:00:10.000Z' });
  });
});

describe('task.claim', () => {
  it('acknowledges the first and closes for the room; the lease starts at the grant', () => {
    const task = new TaskDrive().at(10);
    const [ack, closed] = task.say('bob', 'claim');
    expect(ack).toMatchObject({
      type: 'task.ack',
      to: 'bob',
      attempt: 1,
      lease_seconds: 300,
      lease_expires_at: '1970-01-01T00:05:10.000Z',
    });
    expect(closed).toMatchObject({ type: 'task.closed', reason: 'claimed', holder: 'bob' });
    expect(closed).not.toHaveProperty('to');
  });

  it('of eight at once acknowledges one and answers seven with who holds it', () => {
    const task = new TaskDrive();
    const agents = Array.from({ length: 8 }, (_, i) => `w${i}`);
    const replies = task.host.request(
      agents.map((from) => ({ id: 'c', ts: '', type: 'task.claim', from, task_id: 't' })),
      0,
    );
    expect(replies.map((each) => each.map(({ type }) => type))).toEqual([
      ['task.ack', 'task.closed'],
      ...agents.slice(1).map(() => ['task.closed']),
    ]);
    for (const [i, [reply]] of replies.slice(1).entries()) {
      expect(reply).toMatchObject({ to: agents[i + 1], reason: 'claimed', holder: 'w0', attempt: 1 });
    }
    expect(task.emitted()).toEqual(['task.ack 1', 'task.closed 1']);
  });

  it('of the holder itself is answered that it holds it', () => {
    expect(held().say('bob', 'claim')).toMatchObject([{ type: 'task.closed', to: 'bob', holder: 'bob' }]);
  });

  it.each([
    [300, 'task.ack 1'],
    [0.001, 'task.ack 1'],
    [300.001, 'error invalid_envelope'],
  ])('for %d s of the announced 300 gets %s', (lease_seconds, answer) => {
    const task = new TaskDrive();
    expect(task.answers('bob', 'claim', { lease_seconds })[0]).toBe(answer);
    expect(task.view('status')).toBe(answer === 'task.ack 1' ? 'held' : 'open');
  });
});

it('remembers how its first thousand attempts ended', () => {
  const task = new TaskDrive();
  for (let attempt = 1; attempt <= 1_100; attempt++) {
    task.say('bob', 'claim');
    task.say('bob', 'release', { attempt });
  }
  expect(task.host.snapshot().state).toMatchObject({ attempt: 1_101, ends: 'b'.repeat(1_000) });
});

describe('task.renew', () => {
  it.each([
    [-1, 'task.renewed 1'],
    [0, 'error stale_token'],
    [1, 'error stale_token'],
  ])('%d ms from the end of the lease gets %s', (offset, answer) => {
    const task = held();
    task.now = 300_000 + offset;
    expect(task.answers('bob', 'renew', { attempt: 1 })).toEqual([answer]);
  });

  it('never goes beyond now and the lease, however often', () => {
    const task = held().at(100);
    for (let i = 0; i < 5; i++) {
      expect(task.say('bob', 'renew', { attempt: 1 })).toMatchObject([
        { lease_seconds: 300, lease_expires_at: '1970-01-01T00:06:40.000Z' },
      ]);
    }
    expect(task.emitted()).toEqual([]);
    expect(task.at(399.999).view('status')).toBe('held');
    expect(task.at(400).view('status')).toBe('open');
  });

  it('may shorten the lease, not lengthen it past the announced', () => {
    const task = held();
    expect(task.answers('bob', 'renew', { attempt: 1, lease_seconds: 301 })).toEqual(['error invalid_envelope']);
    expect(task.answers('bob', 'renew', { attempt: 1, lease_seconds: 10 })).toEqual(['task.renewed 1']);
    expect(task.at(10).emitted()).toEqual(['task.expired 1', 'task.announce 2']);
  });

  it.each([10, 200])('without a length gets that of the claim, also after one of %d s, and over runs', (seconds) => {
    const task = new TaskDrive();
    task.say('bob', 'claim', { lease_seconds: 100 });
    const renew = (fields = {}) => task.say('bob', 'renew', { attempt: 1, ...fields });
    expect(renew({ lease_seconds: seconds })).toMatchObject([{ lease_seconds: seconds }]);
    expect(task.view('lease_seconds')).toBe(seconds);
    expect(task.restart().at(1).view('lease_seconds')).toBe(seconds);
    expect(renew()).toMatchObject([{ lease_seconds: 100, lease_expires_at: '1970-01-01T00:01:41.000Z' }]);
    expect(task.at(100.999).view('status')).toBe('held');
    expect(task.at(101).view('status')).toBe('open');
  });

  it('without a length gets that of the renewal before in a run that began under revision 1', () => {
    const task = new TaskDrive({}, 1);
    task.say('bob', 'claim');
    task.say('bob', 'renew', { attempt: 1, lease_seconds: 10 });
    expect(task.say('bob', 'renew', { attempt: 1 })).toMatchObject([{ lease_seconds: 10 }]);
  });

  it('may fail more than once within one lease without losing it', () => {
    const task = held({ lease_seconds: 30 });
    for (const second of [10, 20]) task.at(second).say('bob', 'renew', { attempt: 7 });
    expect(task.at(29).answers('bob', 'renew', { attempt: 1 })).toEqual(['task.renewed 1']);
  });
});

describe.each(['renew', 'complete', 'fail', 'release'])('task.%s', (verb) => {
  const more: { [field: string]: string } = verb === 'fail' ? { reason: 'so' } : {};

  it('with an older attempt is stale, with a newer one than was issued invalid', () => {
    const task = held().at(300);
    task.say('bob', 'claim');
    expect(task.answers('bob', verb, { attempt: 1, ...more })).toEqual(['error stale_token']);
    expect(task.answers('bob', verb, { attempt: 3, ...more })).toEqual(['error invalid_envelope']);
    expect(task.view('status')).toBe('held');
  });

  it('of another agent is refused with the holder named', () => {
    const task = held();
    const [error] = task.say('cleo', verb, { attempt: 1, ...more });
    expect(error).toMatchObject({ code: 'not_holder' });
    expect(error?.['reason']).toContain('bob');
    expect(task.view('status')).toBe('held');
  });

  it('of nobody’s task is refused', () => {
    expect(new TaskDrive().answers('bob', verb, { attempt: 1, ...more })).toEqual(['error not_holder']);
  });

  it('of the producer or an operator counts no more than anybody’s', () => {
    for (const from of ['ann', 'operator:jo']) {
      expect(held().answers(from, verb, { attempt: 1, ...more })).toEqual(['error not_holder']);
    }
  });

  it('after the end is closed, whatever the attempt', () => {
    for (const attempt of [1, 2, 9]) {
      const task = held();
      task.say('bob', 'complete', { attempt: 1 });
      expect(task.answers('cleo', verb, { attempt, ...more })).toEqual(['error closed']);
    }
  });
});

describe('task.complete', () => {
  it('ends the task for the room, with the result', () => {
    const [reply] = held().say('bob', 'complete', { attempt: 1, result: { n: [1, null] } });
    expect(reply).toMatchObject({ type: 'task.completed', holder: 'bob', attempt: 1, result: { n: [1, null] } });
    expect(reply).not.toHaveProperty('to');
  });

  it('of an old holder is refused and its result not recorded', () => {
    const task = held().at(300);
    task.say('cleo', 'claim');
    expect(task.answers('bob', 'complete', { attempt: 1, result: 'old' })).toEqual(['error stale_token']);
    task.say('cleo', 'complete', { attempt: 2, result: 'new' });
    expect(task.view('outcome')).toMatchObject({ holder: 'cleo', result: 'new' });
  });

  it('gets a holder that starts again closed, with the outcome', () => {
    const task = held();
    task.say('bob', 'complete', { attempt: 1 });
    expect(task.answers('bob', 'claim')).toEqual(['error closed']);
  });
});

describe('task.fail', () => {
  it('announces again with the next attempt', () => {
    const task = held();
    expect(task.answers('bob', 'fail', { attempt: 1, reason: 'no ink' })).toEqual(['task.announce 2']);
    expect(task.answers('cleo', 'claim')[0]).toBe('task.ack 2');
  });

  it('without retry ends the task with its reason, and calls for attention', () => {
    const task = held();
    expect(task.say('bob', 'fail', { attempt: 1, reason: 'no ink', retry: false })).toMatchObject([
      { type: 'task.failed', reason: 'no ink', holder: 'bob' },
    ]);
    expect(task.host.effects).toMatchObject([{ name: 'escalate', input: { type: 'task.failed' } }]);
  });

  it('of the last attempt exhausts them', () => {
    const task = held({ max_attempts: 1 });
    expect(task.say('bob', 'fail', { attempt: 1, reason: 'no ink' })).toMatchObject([
      { type: 'task.failed', reason: 'attempts_exhausted', attempt: 1 },
    ]);
    expect(task.view('status')).toBe('failed');
  });
});

describe('task.release', () => {
  it('announces at once with the next attempt', () => {
    const task = held();
    expect(task.answers('bob', 'release', { attempt: 1 })).toEqual(['task.announce 2']);
    expect(task.view('claim_expires_at')).toBe('1970-01-01T00:01:00.000Z');
  });

  it('is no failure: also past max_attempts, where a later expiry ends the task', () => {
    const task = held({ max_attempts: 1 });
    expect(task.answers('bob', 'release', { attempt: 1 })).toEqual(['task.announce 2']);
    expect(task.answers('bob', 'claim')[0]).toBe('task.ack 2');
    task.emitted();
    expect(task.at(300).emitted()).toEqual(['task.expired 2', 'task.failed 2']);
  });
});

describe('task.cancel', () => {
  it.each(['ann', 'operator:jo'])('of %s ends the task, open or held', (from) => {
    for (const task of [new TaskDrive(), held()]) {
      const [reply] = task.say(from, 'cancel', { reason: 'not needed' });
      expect(reply).toMatchObject({ type: 'task.cancelled', reason: 'not needed' });
      expect(reply).not.toHaveProperty('to');
      expect(task.answers('bob', 'complete', { attempt: 1 })).toEqual(['error closed']);
    }
  });

  it.each(['bob', 'cleo', 'ann2', 'operator'])('of %s is unauthorized', (from) => {
    const task = held();
    expect(task.answers(from, 'cancel')).toEqual(['error unauthorized']);
    expect(task.view('status')).toBe('held');
  });

  it('after the end is closed, for anybody', () => {
    const task = held();
    task.say('bob', 'complete', { attempt: 1 });
    expect(task.answers('zoe', 'cancel')).toEqual(['error closed']);
  });
});

describe('a claim that is repeated later', () => {
  const again = (task: TaskDrive) => task.answers('bob', 'claim', { idempotency_key: 'the claim' });

  it('is answered that its lease has run out', () => {
    const task = held();
    const first = new TaskDrive();
    expect(again(first)).toEqual(['task.ack 1', 'task.closed 1']);
    expect(again(first.at(300))).toEqual(['task.ack 1', 'task.closed 1', 'task.expired 1']);
    expect(task.view('attempt')).toBe(1);
  });

  it('is answered with the present state where its sender gave it back', () => {
    const task = new TaskDrive();
    again(task);
    task.say('bob', 'release', { attempt: 1 });
    expect(again(task)).toEqual(['task.ack 1', 'task.closed 1', 'task.announce 2']);
    task.say('cy', 'claim');
    expect(again(task)).toEqual(['task.ack 1', 'task.closed 1', 'task.closed 2']);
    expect(task.say('bob', 'claim', { idempotency_key: 'the claim' })[2]).toMatchObject({ to: 'bob', holder: 'cy' });
  });

  it('is so of each attempt, whatever became of the others', () => {
    const task = new TaskDrive();
    again(task);
    task.at(300).say('cy', 'claim');
    task.say('cy', 'fail', { attempt: 2, reason: 'no' });
    expect(again(task)).toEqual(['task.ack 1', 'task.closed 1', 'task.expired 1']);
  });
});
