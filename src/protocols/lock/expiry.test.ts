import { describe, expect, it } from 'vitest';
import { LockDrive } from './lock.fixture.ts';

const LONG = { wait_seconds: 1_000 };

/** Ann's lock on a has expired at second 60; bob waits for it, and cleo after him. */
function lost(config = {}): LockDrive {
  const locks = new LockDrive(config);
  locks.ask('ann', 'exclusive', 'a');
  locks.ask('bob', 'exclusive', 'a', LONG);
  locks.ask('cleo', 'exclusive', 'a', LONG);
  locks.emitted();
  return locks.at(60);
}

describe('a lock that expires', () => {
  it('is logged for the room, rolled back with its old token, and then the next one’s', () => {
    const locks = lost();
    expect(locks.emitted()).toEqual(['expired l-1 ann a:1']);
    expect(locks.host.effects).toMatchObject([
      {
        name: 'rollback',
        input: { lock_id: 'l-1', holder: 'ann', lock_type: 'exclusive', resources: ['a'], tokens: { a: 1 } },
      },
    ]);
    expect(locks.of('a')).toEqual({ holders: ['synod:rollback'], queue: ['bob', 'cleo'] });
    locks.at(65).end('rollback');
    expect(locks.emitted()).toEqual(['granted bob l-2 a:2']);
    expect(locks.host.nextDeadline()?.at).toBe(125_000);
  });

  it.each([
    [{}, 10],
    [{ rollback_seconds: 3 }, 3],
  ])('is kept for its rollback, with %o, at most %d s', (config, seconds) => {
    const locks = lost(config);
    expect(locks.at(60 + seconds - 0.001).emitted()).toEqual(['expired l-1 ann a:1']);
    expect(locks.at(60 + seconds).emitted()).toEqual(['granted bob l-2 a:2']);
    locks.end('rollback');
    expect(locks.emitted()).toEqual([]);
  });

  it('goes to the next at once where no time is given to the rollback, which runs all the same', () => {
    const locks = lost({ rollback_seconds: 0 });
    expect(locks.emitted()).toEqual(['expired l-1 ann a:1', 'granted bob l-2 a:2']);
    expect(locks.effects).toEqual(['rollback l-1']);
  });

  it('is escalated when its rollback fails, also after its time', () => {
    for (const seconds of [65, 90]) {
      const locks = lost();
      locks.at(seconds).end('rollback', 'Error: no disk');
      expect(locks.emitted()).toEqual(expect.arrayContaining(['granted bob l-2 a:2', 'escalated rollback_failed l-1']));
      expect(locks.effects).toEqual(['escalate l-1']);
      locks.end('escalate');
      expect(locks.effects).toEqual([]);
    }
  });

  it('is held by the rollback as the lost one was: readers stay beside a reader', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'read', 'a', { lease_seconds: 10 });
    locks.at(10);
    expect(locks.ask('bob', 'read', 'a')).toEqual(['granted bob l-2 a:2']);
    expect(locks.ask('cleo', 'exclusive', 'a', LONG)).toEqual(['queued l-3 1 synod:rollback bob']);
  });

  it('is not its agent’s any more: asking again, it waits like any other', () => {
    const locks = lost();
    expect(locks.ask('ann', 'exclusive', 'a', LONG)).toEqual(['queued l-4 3 synod:rollback']);
    expect(locks.answers('ann', 'release', { lock_id: 'l-1' })).toEqual(['error not_holder']);
  });

  it('survives its run: the holder, the queue, the rollback and the tokens are the same in the next', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'exclusive', 'a');
    locks.ask('bob', 'exclusive', 'a', LONG);
    locks.restart();
    expect(locks.of('a')).toEqual({ holders: ['ann'], queue: ['bob'] });
    locks.at(60).restart();
    locks.end('rollback');
    locks.restart();
    expect(locks.of('a')).toEqual({ holders: ['bob'], queue: [] });
    expect(locks.view('last_token')).toBe(2);
  });

  it('starts so many rollbacks at once, and every one in the end', () => {
    const locks = new LockDrive({ rollback_seconds: 1 });
    const names = (i: number) => Array.from({ length: 30 }, (_, n) => `${i}-${n}-`.padEnd(190, 'x')).join('+');
    for (let i = 1; i <= 20; i++) locks.ask(`w${i}`, 'exclusive', names(i), { lease_seconds: 10 });
    locks.at(10);
    const seen = new Set<string>();
    expect(locks.effects.length).toBeLessThan(10);
    locks.at(11);
    expect(locks.of(names(20).slice(0, 190)).holders).toEqual([]);
    for (let left = 100; locks.effects.length > 0 && left > 0; left--) {
      for (const effect of locks.effects) seen.add(effect);
      locks.end('rollback');
      if (left === 95) locks.restart();
    }
    expect(seen.size).toBe(20);
    expect(locks.view('rolling_back')).toBe(0);
  });
});

describe('ten locks of sixty long names each that expire at one instant', () => {
  it('are rolled back under a key each, which it keeps over tries and runs', () => {
    const drive = new LockDrive({ rollback_seconds: 0 });
    const names = (i: number) => Array.from({ length: 60 }, (_, n) => `${i}-${n}`.padEnd(110, 'x'));
    for (let i = 0; i < 10; i++)
      drive.say(`a${i}`, 'request', { resources: names(i), lock_type: 'exclusive', lease_seconds: 60 });
    drive.at(60);
    const keys: string[] = [];
    for (let next = drive.host.effects[0]; next; next = drive.host.effects[0]) {
      const before = drive.host.effects.map(({ key }) => key);
      expect(new Set(before).size).toBe(before.length);
      drive.restart();
      expect(drive.host.effects.map(({ key }) => key)).toEqual(before);
      keys.push(next.key);
      drive.host.effectEnded(next.key, undefined, drive.now);
    }
    expect(keys).toEqual(Array.from({ length: 10 }, (_, i) => `synod:lab:locks:0-${i + 1}`));
  });
});

describe('an operator', () => {
  it('ends a lock as its expiry would, with the reason, and the token rises', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'exclusive', 'a');
    locks.ask('bob', 'exclusive', 'a', LONG);
    locks.emitted();
    const force = { lock_id: 'l-1', reason: 'it hangs' };
    expect(locks.answers('operator:jo', 'force_release', force)).toEqual(['accepted']);
    expect(locks.events().at(-1)).toMatchObject({ type: 'lock.expired', reason: 'it hangs', by: 'operator:jo' });
    expect(locks.effects).toEqual(['rollback l-1']);
    locks.end('rollback');
    expect(locks.emitted()).toEqual(['granted bob l-2 a:2']);
  });

  it('may end the time of a rollback, but not what is no lock', () => {
    const locks = lost();
    locks.emitted();
    const force = (id: string) => locks.answers('operator:jo', 'force_release', { lock_id: id, reason: 'enough' });
    expect(force('l-2')).toEqual(['error not_holder']);
    expect(force('l-9')).toEqual(['error not_holder']);
    expect(force('l-1')).toEqual(['accepted']);
    expect(locks.emitted()).toEqual(['granted bob l-2 a:2']);
    locks.end('rollback', 'Error: no disk');
    expect(locks.emitted()).toEqual(['escalated rollback_failed l-1']);
  });
});

describe('a wait that ends', () => {
  it('costs the agent all that it holds here, named in its answer, and nobody else’s', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'exclusive', 'a', { lease_seconds: 300 });
    locks.ask('bob', 'exclusive', 'b', { lease_seconds: 300 });
    locks.ask('bob', 'read', 'c', { lease_seconds: 300 });
    locks.ask('bob', 'exclusive', 'a');
    locks.ask('cleo', 'exclusive', 'b', LONG);
    locks.emitted();
    expect(locks.at(9.999).emitted()).toEqual([]);
    const [denied, granted] = locks.at(10).events();
    expect(denied).toMatchObject({
      type: 'lock.denied',
      to: 'bob',
      in_reply_to: 'm4',
      request: 'm4',
      reason: 'timeout',
      released: ['l-2', 'l-3'],
      retry: 1,
      retry_after_seconds: 1,
    });
    expect(granted).toMatchObject({ type: 'lock.granted', to: 'cleo' });
    expect(locks.effects).toEqual([]);
    expect(locks.view('held')).toBe(2);
  });

  it('comes before what comes free at the same time: the next one gets that', () => {
    const locks = new LockDrive({ rollback_seconds: 0 });
    locks.ask('ann', 'exclusive', 'a', { lease_seconds: 10 });
    locks.ask('bob', 'exclusive', 'a', { wait_seconds: 10 });
    locks.ask('cleo', 'exclusive', 'a', { wait_seconds: 11 });
    locks.emitted();
    expect(locks.at(10).emitted()).toEqual(['denied bob timeout', 'expired l-1 ann a:1', 'granted cleo l-3 a:2']);
  });

  it('leaves no turn to a waiter that is late, whatever came free while the timer did not run', () => {
    const locks = new LockDrive({ rollback_seconds: 0 });
    locks.ask('ann', 'exclusive', 'a', { lease_seconds: 5 });
    locks.ask('bob', 'exclusive', 'a', { wait_seconds: 6 });
    locks.emitted();
    locks.late(6.9);
    expect(locks.emitted()).toEqual(['denied bob timeout', 'expired l-1 ann a:1']);
  });

  it('costs fifty waiters that are gone one step, not one each', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'exclusive', 'a', { lease_seconds: 300 });
    for (let i = 0; i < 50; i++) locks.ask(`gone${i}`, 'exclusive', 'a', { wait_seconds: 10 });
    locks.ask('bob', 'exclusive', 'a', LONG);
    locks.at(10).emitted();
    locks.release('ann', 'l-1');
    expect(locks.emitted()).toEqual(['released l-1', 'granted bob l-52 a:2']);
  });

  it('is counted by agent and set of resources: the third is escalated, and the count begins anew', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'exclusive', 'a', { lease_seconds: 300 });
    const round = (resources: string) => {
      locks.ask('bob', 'exclusive', resources);
      locks.emitted();
      locks.at(locks.now / 1000 + 10);
      const [denied, ...rest] = locks.events();
      return [denied?.['retry'], denied?.['retry_after_seconds'], ...rest.map(({ type }) => type)];
    };
    expect(round('a')).toEqual([1, 1]);
    expect(round('a+b')).toEqual([1, 1]);
    expect(round('a')).toEqual([2, 2]);
    locks.restart();
    expect(round('a')).toEqual([3, 4, 'lock.escalated']);
    expect(locks.effects).toEqual(['escalate bob']);
    expect(round('a')).toEqual([1, 1]);
  });

  it('is forgotten once the lock is granted', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'exclusive', 'a', { lease_seconds: 300 });
    locks.ask('bob', 'exclusive', 'a');
    locks.at(10).release('ann', 'l-1');
    expect(locks.view('retries_counted')).toBe(1);
    locks.ask('bob', 'exclusive', 'a');
    expect(locks.view('retries_counted')).toBe(0);
  });

  it('of two who hold what the other waits for ends both waits, and nothing is left held', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'exclusive', 'a');
    locks.ask('bob', 'exclusive', 'b');
    locks.ask('ann', 'exclusive', 'b');
    locks.ask('bob', 'exclusive', 'a');
    locks.emitted();
    expect(locks.at(10).emitted()).toEqual(['denied ann timeout l-1', 'denied bob timeout l-2']);
    expect(locks.view('held')).toBe(0);
  });
});
