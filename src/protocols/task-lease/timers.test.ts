import { describe, expect, it } from 'vitest';
import { held, TaskDrive } from './task.fixture.ts';

describe('the end of a lease', () => {
  it('names the holder and announces the next attempt', () => {
    const task = held();
    expect(task.at(299.999).emitted()).toEqual([]);
    task.at(300);
    expect(task.events()).toMatchObject([
      { type: 'task.expired', holder: 'bob', attempt: 1 },
      { type: 'task.announce', attempt: 2, title: 'Sort' },
    ]);
  });

  it('past max_attempts ends the task', () => {
    const task = held({ max_attempts: 2 }).at(300);
    task.say('cleo', 'claim');
    task.emitted();
    task.at(600);
    expect(task.events()).toMatchObject([
      { type: 'task.expired', holder: 'cleo', attempt: 2 },
      { type: 'task.failed', reason: 'attempts_exhausted', attempt: 2 },
    ]);
    expect(task.host.effects).toHaveLength(1);
    expect(task.answers('bob', 'claim')).toEqual(['error closed']);
  });

  it('is never that of a lease that was handed back', () => {
    const task = held();
    task.say('bob', 'release', { attempt: 1 });
    task.at(50).say('cleo', 'claim');
    task.emitted();
    expect(task.at(349.999).emitted()).toEqual([]);
    expect(task.at(350).emitted()).toEqual(['task.expired 2', 'task.announce 3']);
  });
});

describe('a window in which nobody claims', () => {
  it('announces again with the same attempt, in windows that double up to ten minutes', () => {
    const task = new TaskDrive();
    const ends: number[] = [];
    for (let i = 0; i < 7; i++) {
      const next = (task.host.nextDeadline()?.at ?? 0) / 1000;
      ends.push(next);
      expect(task.at(next - 0.001).emitted()).toEqual([]);
      expect(task.at(next).emitted()).toEqual(['task.unclaimed 1', 'task.announce 1']);
    }
    expect(ends).toEqual([60, 180, 420, 900, 1_500, 2_100, 2_700]);
  });

  it('of more than ten minutes stays what it is', () => {
    const task = new TaskDrive({ claim_seconds: 1_000 });
    expect(task.at(1_000).emitted()).toEqual(['task.unclaimed 1', 'task.announce 1']);
    expect(task.at(1_999).emitted()).toEqual([]);
    expect(task.at(2_000).emitted()).toEqual(['task.unclaimed 1', 'task.announce 1']);
  });

  it('spends no attempt, and the next attempt starts with the first window', () => {
    const task = new TaskDrive({ max_attempts: 2 });
    task.at(60);
    task.at(180);
    task.say('bob', 'claim');
    task.emitted();
    task.at(480);
    expect(task.emitted()).toEqual(['task.expired 1', 'task.announce 2']);
    expect(task.host.nextDeadline()?.at).toBe(540_000);
  });
});

describe('the announcement’s expires_at', () => {
  const soon = { expires_at: '1970-01-01T00:00:30Z' };

  it('ends a task that nobody has claimed', () => {
    const task = new TaskDrive(soon);
    expect(task.at(29.999).emitted()).toEqual([]);
    task.at(30);
    expect(task.events()).toMatchObject([{ type: 'task.failed', reason: 'expired' }]);
    expect(task.answers('bob', 'claim')).toEqual(['error closed']);
  });

  it('leaves a holder its lease', () => {
    const task = held(soon);
    expect(task.at(100).answers('bob', 'renew', { attempt: 1 })).toEqual(['task.renewed 1']);
    expect(task.answers('bob', 'complete', { attempt: 1 })).toEqual(['task.completed 1']);
  });

  it('ends the task when the lease ends after it', () => {
    const task = held(soon).at(300);
    expect(task.events()).toMatchObject([{ type: 'task.expired' }, { type: 'task.failed', reason: 'expired' }]);
  });

  it('ends the task when it is handed back after it', () => {
    const task = held(soon).at(100);
    task.say('bob', 'release', { attempt: 1 });
    expect(task.answers('cleo', 'claim')).toEqual(['error closed']);
    expect(task.view('outcome')).toMatchObject({ type: 'task.failed', reason: 'expired' });
  });
});

describe('a repeated claim', () => {
  function repeat(task: TaskDrive): string[] {
    const claim = { id: 'c', ts: '', type: 'task.claim', from: 'bob', task_id: 't' };
    return task.host.request([claim], task.now).flatMap((replies) => replies.map(({ type }) => type));
  }

  it('is followed by what became of the lease', () => {
    const task = new TaskDrive();
    const first = ['task.ack', 'task.closed'];
    expect(repeat(task)).toEqual(first);
    expect(repeat(task)).toEqual(first);
    task.at(100).say('bob', 'renew', { attempt: 1 });
    expect(repeat(task)).toEqual([...first, 'task.renewed']);
    task.at(400);
    expect(repeat(task)).toEqual([...first, 'task.expired']);
    task.say('cleo', 'claim');
    task.say('cleo', 'complete', { attempt: 2 });
    expect(repeat(task)).toEqual([...first, 'task.completed']);
  });
});
