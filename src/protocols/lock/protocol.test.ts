import { describe, expect, it } from 'vitest';
import { LockDrive } from './lock.fixture.ts';

const ASK = { wait_seconds: 100 };

describe('the kinds of locks', () => {
  const kinds = ['read', 'write', 'exclusive', 'permit'];
  const together = new Set(['read read', 'read write', 'write read', 'permit permit']);
  it.each(kinds.flatMap((first) => kinds.map((second) => [first, second] as const)))('%s, then %s', (first, second) => {
    const locks = new LockDrive({ permits: { a: 2 } });
    expect(locks.ask('ann', first, 'a')).toEqual(['granted ann l-1 a:1']);
    const shared = together.has(`${first} ${second}`);
    expect(locks.ask('bob', second, 'a')).toEqual([shared ? 'granted bob l-2 a:2' : 'queued l-2 1 ann']);
    locks.emitted();
    locks.release('ann', 'l-1');
    expect(locks.emitted()).toEqual(['released l-1', ...(shared ? [] : ['granted bob l-2 a:2'])]);
  });

  it('let one writer in beside its readers, and not a second one', () => {
    const locks = new LockDrive();
    for (const reader of ['ann', 'bob']) locks.ask(reader, 'read', 'a');
    expect(locks.ask('cleo', 'write', 'a')).toEqual(['granted cleo l-3 a:3']);
    expect(locks.ask('dan', 'read', 'a')).toEqual(['granted dan l-4 a:4']);
    expect(locks.ask('eve', 'write', 'a')).toEqual(['queued l-5 1 cleo']);
  });
});

describe('several resources', () => {
  it('are granted in one step, or none of them', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'exclusive', 'b');
    expect(locks.ask('bob', 'exclusive', 'c+a+b+a')).toEqual(['queued l-2 1 ann']);
    expect(locks.of('a')).toEqual({ holders: [], queue: ['bob'] });
    // A request after it waits behind it also where the resource is free: nobody is overtaken.
    expect(locks.ask('cleo', 'exclusive', 'a')).toEqual(['queued l-3 2 bob']);
    locks.emitted();
    locks.release('ann', 'l-1');
    expect(locks.emitted()).toEqual(['released l-1', 'granted bob l-2 a:2 b:2 c:2']);
    locks.release('bob', 'l-2');
    expect(locks.emitted()).toEqual(['released l-2', 'granted cleo l-3 a:3']);
  });

  it('asked for in any order are the same: [a,b] and [b,a] never wait for each other', () => {
    const locks = new LockDrive();
    expect(locks.ask('ann', 'exclusive', 'a+b')).toEqual(['granted ann l-1 a:1 b:1']);
    expect(locks.ask('bob', 'exclusive', 'b+a')).toEqual(['queued l-2 1 ann']);
    locks.release('ann', 'l-1');
    expect(locks.of('a').holders).toEqual(['bob']);
    expect(locks.of('b').holders).toEqual(['bob']);
  });

  it('are each of them once, in the order of their code units, however often and in whatever order they are named', () => {
    const locks = new LockDrive();
    expect(locks.ask('ann', 'exclusive', 'b+a+B+a')).toEqual(['granted ann l-1 B:1 a:1 b:1']);
    expect(locks.ask('ann', 'exclusive', 'a+b+B')).toEqual(['granted ann l-1 B:1 a:1 b:1']);
    expect(locks.of('a').holders).toEqual(['ann']);
  });
});

describe('the turn', () => {
  it('is by priority, then arrival', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'exclusive', 'a');
    locks.ask('late', 'exclusive', 'a', { ...ASK, priority: 5 });
    locks.at(1).ask('bob', 'exclusive', 'a', ASK);
    locks.at(2).ask('cleo', 'exclusive', 'a', { ...ASK, scope: 9 });
    expect(locks.ask('dan', 'exclusive', 'a', { ...ASK, priority: 1 })).toEqual(['queued l-5 1 ann']);
    expect(locks.of('a').queue).toEqual(['dan', 'bob', 'cleo', 'late']);
  });

  it('is, within one workflow task, by the broader scope', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'exclusive', 'a');
    locks.ask('bob', 'exclusive', 'a', ASK);
    locks.ask('cleo', 'exclusive', 'a', { ...ASK, scope: 2 });
    expect(locks.ask('dan', 'exclusive', 'a', { ...ASK, scope: 1 })).toEqual(['queued l-4 2 ann']);
    expect(locks.ask('eve', 'exclusive', 'a', { ...ASK, scope: -1 })).toEqual(['queued l-5 4 ann']);
    expect(locks.of('a').queue).toEqual(['cleo', 'dan', 'bob', 'eve']);
  });

  it('of a reader is not before the exclusive one that waits', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'read', 'a');
    locks.ask('bob', 'exclusive', 'a', ASK);
    expect(locks.ask('cleo', 'read', 'a', ASK)).toEqual(['queued l-3 2 bob']);
    locks.emitted();
    locks.release('ann', 'l-1');
    locks.release('bob', 'l-2');
    expect(locks.emitted()).toEqual(['released l-1', 'granted bob l-2 a:2', 'released l-2', 'granted cleo l-3 a:3']);
  });

  it('of readers behind a writer who cancels comes at once, each once', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'read', 'a');
    locks.ask('bob', 'exclusive', 'a', ASK);
    for (const reader of ['cleo', 'dan', 'eve']) locks.ask(reader, 'read', 'a', ASK);
    locks.emitted();
    expect(locks.answers('bob', 'cancel', { lock_id: 'l-2' })).toEqual(['cancelled l-2 m2']);
    const granted = ['granted cleo l-3 a:2', 'granted dan l-4 a:3', 'granted eve l-5 a:4'];
    expect(locks.emitted()).toEqual(['cancelled l-2 m2', ...granted]);
  });

  it('is one each at a release, with 1,000 waiters, in order', () => {
    const locks = new LockDrive();
    for (let i = 1; i <= 1_001; i++) locks.ask(`w${i}`, 'exclusive', 'a', { wait_seconds: 3_600 });
    locks.emitted();
    for (let i = 1; i <= 1_000; i++) {
      locks.release(`w${i}`, `l-${i}`);
      expect(locks.emitted()).toEqual([`released l-${i}`, `granted w${i + 1} l-${i + 1} a:${i + 1}`]);
    }
  });
});

describe('a grant', () => {
  it('to a waiter answers its request, names its key, and its lease starts then', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'exclusive', 'a');
    locks.ask('bob', 'exclusive', 'a', { ...ASK, idempotency_key: 'the key', lease_seconds: 5 });
    locks.at(50).emitted();
    locks.release('ann', 'l-1');
    expect(locks.events().at(-1)).toMatchObject({
      type: 'lock.granted',
      to: 'bob',
      in_reply_to: 'm2',
      request: 'the key',
      lease_seconds: 5,
      lease_expires_at: '1970-01-01T00:00:55.000Z',
    });
  });

  it('has a token above all earlier ones, over every resource and every run', () => {
    const locks = new LockDrive();
    for (let i = 1; i <= 300; i++) {
      expect(locks.ask('ann', 'exclusive', `r${i}`)).toEqual([`granted ann l-${i} r${i}:${i}`]);
      expect(locks.release('ann', `l-${i}`)).toEqual([`released l-${i}`]);
      if (i % 100 === 0) locks.restart();
    }
    expect(JSON.stringify(locks.host.snapshot().state).length).toBeLessThan(6_000);
  });
});

describe('a try', () => {
  it('is granted or denied as busy, and releases nothing', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'exclusive', 'a');
    locks.ask('bob', 'exclusive', 'b');
    expect(locks.ask('bob', 'exclusive', 'a', { wait_seconds: 0 })).toEqual(['denied bob busy']);
    expect(locks.of('b').holders).toEqual(['bob']);
    expect(locks.of('a').queue).toEqual([]);
    expect(locks.ask('bob', 'exclusive', 'c', { wait_seconds: 0 })).toEqual(['granted bob l-3 c:3']);
  });
});
