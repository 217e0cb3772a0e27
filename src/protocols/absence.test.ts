import { describe, expect, it } from 'vitest';
import { opened } from './barrier/barrier.fixture.ts';
import { ElectionDrive } from './election/election.fixture.ts';
import { LockDrive } from './lock/lock.fixture.ts';
import { TaskDrive } from './task-lease/task.fixture.ts';

// No worker ran from the first deadline on: `late` lets time pass without handling what comes due.

describe('after an absence a task', () => {
  const held = () => {
    const task = new TaskDrive();
    task.say('bob', 'claim');
    task.emitted();
    return task;
  };

  it('leaves its holder the attempt and a whole lease, and logs that once', () => {
    const task = held().late(1_000);
    expect(task.events()).toMatchObject([{ type: 'synod.resumed', away_seconds: 700, extended: 1 }]);
    expect(task.answers('bob', 'complete', { attempt: 1 })).toEqual(['task.completed 1']);
    const silent = held().late(1_000);
    expect(silent.at(1_299.999).emitted()).toEqual(['synod.resumed']);
    expect(silent.at(1_300).emitted()[0]).toBe('task.expired 1');
  });

  it('lets the renewal that comes first be taken', () => {
    const task = held();
    task.now = 1_000_000;
    expect(task.answers('bob', 'renew', { attempt: 1 })).toEqual(['task.renewed 1']);
  });

  it('judges who is late by two seconds and less, and gives back by one millisecond more', () => {
    expect(held().late(302).emitted()[0]).toBe('task.expired 1');
    expect(held().late(302.001).emitted()).toEqual(['synod.resumed']);
  });

  it('gives back once until somebody is received again, over runs, too', () => {
    expect(held().late(1_000).restart().late(2_000).emitted()).toEqual([
      'synod.resumed',
      'task.expired 1',
      'task.announce 2',
    ]);
    const task = held().late(1_000);
    task.say('cleo', 'claim');
    expect(task.late(2_000).emitted()).toEqual(['synod.resumed', 'synod.resumed']);
  });

  it('counts from when it ran last: who was received in between was not absent', () => {
    const task = held();
    task.say('cleo', 'claim');
    task.late(299);
    expect(task.late(301.9).emitted()[0]).toBe('task.expired 1');
  });

  it('keeps its claim window open for as long again, at most its own length', () => {
    const task = new TaskDrive().late(80);
    expect(task.emitted()).toEqual(['synod.resumed']);
    expect(task.at(99.999).emitted()).toEqual([]);
    expect(task.at(100).emitted()[0]).toBe('task.unclaimed 1');
    const long = new TaskDrive().late(10_000);
    long.emitted();
    expect(long.at(10_060).emitted()[0]).toBe('task.unclaimed 1');
  });

  it('does not move the end of its announcement', () => {
    const task = new TaskDrive({ expires_at: '1970-01-01T00:00:30Z' }).late(40);
    expect(task.emitted().at(-1)).toBe('task.failed 1');
  });

  it('judges as before in a run that began with the former rules', () => {
    const task = new TaskDrive({}, 1);
    task.say('bob', 'claim');
    task.emitted();
    expect(task.late(1_000).emitted()[0]).toBe('task.expired 1');
  });
});

describe('after an absence an election', () => {
  it('keeps its coordinator for three heartbeats more, and who stood', () => {
    const election = new ElectionDrive('bob', 'ann').late(100);
    expect(election.events()).toMatchObject([{ type: 'synod.resumed', away_seconds: 70, extended: 2 }]);
    expect(election.answers('bob', 'heartbeat', { epoch: 1 })).toEqual(['coordinator.alive 1']);
    const silent = new ElectionDrive('bob', 'ann').late(100);
    silent.emitted();
    silent.at(110);
    silent.say('ann', 'join');
    expect(silent.at(129.999).emitted()).toEqual([]);
    expect(silent.at(130).emitted()).toEqual(['coordinator.lost 1 bob', 'coordinator.elected 2 ann']);
  });

  it('does not bring back a candidate that had lapsed before it', () => {
    const election = new ElectionDrive('bob', 'ann').at(25);
    election.say('bob', 'heartbeat', { epoch: 1 });
    election.at(50);
    election.say('bob', 'heartbeat', { epoch: 1 });
    election.late(100);
    election.say('bob', 'resign', { epoch: 1 });
    expect(election.emitted().at(-1)).not.toContain('ann');
  });
});

describe('after an absence the locks', () => {
  const LONG = { wait_seconds: 600, lease_seconds: 60 };

  it('are their holders’ for a whole lease more, and waits are put off by as much as they were kept', () => {
    const locks = new LockDrive({ rollback_seconds: 0 });
    locks.ask('ann', 'exclusive', 'a', { lease_seconds: 60 });
    locks.ask('bob', 'exclusive', 'a', { ...LONG, wait_seconds: 70 });
    locks.ask('cleo', 'exclusive', 'b', { lease_seconds: 300 });
    locks.emitted();
    locks.late(100);
    expect(locks.emitted()).toEqual(['synod.resumed']);
    expect(locks.answers('ann', 'renew', { lock_id: 'l-1', lease_seconds: 300 })).toEqual(['renewed l-1']);
    expect(locks.at(139.999).emitted()).toEqual([]);
    expect(locks.at(140).emitted()).toEqual(['denied bob timeout']);
    // What was not due yet counts as renewed, too.
    expect(locks.at(399.999).emitted()).toEqual([]);
    expect(locks.at(400).emitted()).toEqual(['expired l-1 ann a:1', 'expired l-3 cleo b:2']);
  });

  it('of a dead holder are the next one’s one lease later', () => {
    const locks = new LockDrive({ rollback_seconds: 0 });
    locks.ask('ann', 'exclusive', 'a', { lease_seconds: 60 });
    locks.ask('bob', 'exclusive', 'a', LONG);
    locks.emitted();
    locks.late(100);
    expect(locks.at(159.999).emitted()).toEqual(['synod.resumed']);
    expect(locks.at(160).emitted()).toEqual(['expired l-1 ann a:1', 'granted bob l-2 a:2']);
  });

  it('leave a rollback the time in which it could not run', () => {
    const locks = new LockDrive({ rollback_seconds: 10 });
    locks.ask('ann', 'exclusive', 'a', { lease_seconds: 60 });
    locks.ask('bob', 'exclusive', 'a', LONG);
    locks.at(60).emitted();
    locks.late(100);
    expect(locks.of('a').holders).toEqual(['synod:rollback']);
    expect(locks.at(110).emitted()).toEqual(['synod.resumed', 'granted bob l-2 a:2']);
  });
});

it('after an absence the time-out of a barrier and its end are where they were', () => {
  const drive = opened({ fallback: 'fail' });
  drive.events();
  expect(drive.late(1_000).emitted()).toEqual(['barrier.failed']);
});
