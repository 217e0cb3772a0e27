import { describe, expect, it } from 'vitest';
import { LockDrive } from './lock.fixture.ts';

const LONG = { wait_seconds: 1_000 };

describe('a lease', () => {
  it.each([
    [9.999, 'renewed l-1', []],
    [10, 'error not_holder', ['expired l-1 ann a:1']],
    [10.001, 'error not_holder', ['expired l-1 ann a:1']],
  ])('of 10 s renewed after %d s: %s', (seconds, answer, emitted) => {
    const locks = new LockDrive();
    locks.ask('ann', 'exclusive', 'a', { lease_seconds: 10 });
    locks.emitted();
    locks.now = seconds * 1000;
    expect(locks.answers('ann', 'renew', { lock_id: 'l-1' })).toEqual([answer]);
    expect(locks.emitted()).toEqual(emitted);
  });

  it('renewed is counted from now, as long as asked for first unless it asks for another, and never adds up', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'exclusive', 'a', { lease_seconds: 10 });
    for (let i = 0; i < 5; i++) locks.at(1).answers('ann', 'renew', { lock_id: 'l-1' });
    expect(locks.host.nextDeadline()?.at).toBe(11_000);
    const [renewed] = locks.say('ann', 'renew', { lock_id: 'l-1', lease_seconds: 3 });
    expect(renewed).toMatchObject({ lease_seconds: 3, lease_expires_at: '1970-01-01T00:00:04.000Z' });
    locks.answers('ann', 'renew', { lock_id: 'l-1' });
    expect(locks.host.nextDeadline()?.at).toBe(11_000);
  });
});

describe('who is not the holder', () => {
  it.each(['renew', 'release'])('may not %s, and nothing is touched', (verb) => {
    const locks = new LockDrive();
    locks.ask('ann', 'exclusive', 'a');
    locks.ask('bob', 'exclusive', 'a', LONG);
    const before = JSON.stringify(locks.host.snapshot().state);
    for (const [from, id] of [
      ['bob', 'l-1'],
      ['bob', 'l-2'],
      ['ann', 'l-2'],
      ['ann', 'l-3'],
      ['ann', 'L-1'],
      ['ann', 'l-01'],
      ['ann', 'l-1 '],
    ] as const)
      expect(locks.answers(from, verb, { lock_id: id })).toEqual(['error not_holder']);
    expect(JSON.stringify(locks.host.snapshot().state)).toBe(before);
  });

  it('by a late release, retried after another has the lock, changes nothing', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'exclusive', 'a');
    locks.ask('bob', 'exclusive', 'a', LONG);
    const release = { type: 'lock.release', id: 'r', from: 'ann', ts: '', lock_id: 'l-1' };
    const first = locks.host.request([release], 0).flat();
    expect(locks.host.request([release], 5).flat()).toEqual(first);
    expect(locks.of('a').holders).toEqual(['bob']);
  });
});

describe('a cancel', () => {
  it.each<{ [field: string]: string }>([{ lock_id: 'l-2' }, { request: 'k' }])(
    'of a waiter, by %o, is its one terminal answer',
    (which) => {
      const locks = new LockDrive();
      locks.ask('ann', 'exclusive', 'a');
      locks.ask('bob', 'exclusive', 'a', { ...LONG, idempotency_key: 'k' });
      expect(locks.answers('bob', 'cancel', which)).toEqual(['cancelled l-2 k']);
      expect(locks.answers('bob', 'cancel', which)).toEqual(['error not_holder']);
      locks.emitted();
      locks.release('ann', 'l-1');
      expect(locks.at(2_000).emitted()).toEqual(['released l-1']);
    },
  );

  it('that comes after the grant releases it: the grant was the terminal answer', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'exclusive', 'a', { idempotency_key: 'k' });
    locks.ask('bob', 'exclusive', 'a', LONG);
    locks.emitted();
    expect(locks.answers('ann', 'cancel', { request: 'k' })).toEqual(['released l-1']);
    expect(locks.emitted()).toEqual(['released l-1', 'granted bob l-2 a:2']);
  });

  it('that comes before its request is that one’s answer, once, in any run', () => {
    const locks = new LockDrive();
    expect(locks.answers('ann', 'cancel', { request: 'k' })).toEqual(['cancelled k']);
    locks.restart();
    expect(locks.ask('bob', 'exclusive', 'a', { idempotency_key: 'k' })).toEqual(['granted bob l-1 a:1']);
    expect(locks.ask('ann', 'exclusive', 'b', { idempotency_key: 'k' })).toEqual(['cancelled k']);
    expect(locks.ask('ann', 'exclusive', 'b', { idempotency_key: 'k' })).toEqual(['cancelled k']);
    expect(locks.ask('ann', 'exclusive', 'b')).toEqual(['granted ann l-2 b:2']);
  });

  it('is remembered for ten minutes, and only so many of them', () => {
    const locks = new LockDrive();
    locks.answers('ann', 'cancel', { request: 'k' });
    locks.at(600);
    expect(locks.ask('ann', 'exclusive', 'a', { idempotency_key: 'k' })).toEqual(['granted ann l-1 a:1']);
    for (let i = 0; i < 300; i++) locks.answers('bob', 'cancel', { request: `k${i}` });
    expect(locks.view('cancels_remembered')).toBe(256);
    expect(locks.ask('bob', 'exclusive', 'b', { idempotency_key: 'k0' })).toEqual(['granted bob l-2 b:2']);
    expect(locks.ask('bob', 'exclusive', 'c', { idempotency_key: 'k299' })).toEqual(['cancelled k299']);
  });

  it('of another’s request, or of one that has ended, is refused', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'exclusive', 'a', { idempotency_key: 'k' });
    expect(locks.answers('bob', 'cancel', { lock_id: 'l-1' })).toEqual(['error not_holder']);
    locks.release('ann', 'l-1');
    expect(locks.answers('ann', 'cancel', { request: 'k' })).toEqual(['error not_holder']);
  });
});

describe('what an agent already holds', () => {
  it.each([
    ['exclusive', 'exclusive'],
    ['exclusive', 'write'],
    ['exclusive', 'read'],
    ['write', 'read'],
    ['read', 'read'],
  ])('in %s it gets again for %s: the same lock, tokens and end; one release frees it', (held, wanted) => {
    const locks = new LockDrive();
    locks.ask('ann', held, 'a+b');
    const [first] = locks.say('ann', 'request', { resources: ['b', 'a'], lock_type: wanted });
    locks.at(5);
    const [again] = locks.say('ann', 'request', { resources: ['a', 'b'], lock_type: wanted, wait_seconds: 0 });
    expect(again).toMatchObject({ lock_id: 'l-1', tokens: { a: 1, b: 1 } });
    expect(again?.['lease_expires_at']).toBe(first?.['lease_expires_at']);
    locks.release('ann', 'l-1');
    expect(locks.view('held')).toBe(0);
  });

  it('is upgraded at once where no other is in the way, and stays what it was beside', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'read', 'a');
    expect(locks.ask('ann', 'exclusive', 'a')).toEqual(['granted ann l-2 a:2']);
    expect(locks.ask('ann', 'write', 'a')).toEqual(['granted ann l-2 a:2']);
    locks.release('ann', 'l-2');
    expect(locks.of('a').holders).toEqual(['ann']);
    expect(locks.ask('bob', 'exclusive', 'a', LONG)).toEqual(['queued l-3 1 ann']);
  });

  it('is upgraded by one of two readers, or refused to locks; nobody waits for itself', () => {
    for (const [kind, first, second] of [
      ['write', 'granted ann l-3 a:3', 'denied bob held'],
      ['exclusive', 'denied ann held', 'denied bob held'],
    ] as const) {
      const locks = new LockDrive();
      for (const reader of ['ann', 'bob']) locks.ask(reader, 'read', 'a');
      expect(locks.ask('ann', kind, 'a', LONG)).toEqual([first]);
      expect(locks.ask('bob', kind, 'a', LONG)).toEqual([second]);
      expect(locks.view('waiting')).toBe(0);
    }
  });

  it('never lets it overtake who waits: what is asked for beside it is denied', () => {
    const locks = new LockDrive();
    locks.ask('ann', 'read', 'a');
    locks.ask('bob', 'exclusive', 'a', LONG);
    expect(locks.ask('ann', 'write', 'a', LONG)).toEqual(['denied ann held']);
    expect(locks.ask('ann', 'exclusive', 'a+b', LONG)).toEqual(['denied ann held']);
    expect(locks.ask('ann', 'read', 'b', LONG)).toEqual(['granted ann l-3 b:2']);
  });

  it('or waits for itself is denied, not queued behind its own request, also with a higher priority', () => {
    const locks = new LockDrive({ permits: { p: 1 } });
    locks.ask('ann', 'exclusive', 'a+b');
    locks.ask('bob', 'exclusive', 'b+c', LONG);
    expect(locks.ask('bob', 'exclusive', 'c', { ...LONG, priority: 1 })).toEqual(['denied bob held']);
    expect(locks.ask('bob', 'read', 'd', LONG)).toEqual(['granted bob l-3 d:2']);
    locks.ask('ann', 'permit', 'p');
    locks.ask('bob', 'permit', 'p', LONG);
    expect(locks.ask('bob', 'permit', 'p', LONG)).toEqual(['denied bob held']);
  });
});

describe('permits', () => {
  it('are so many at once, in order, and of rising tokens', () => {
    const locks = new LockDrive({ permits: { gpu: 2 } });
    for (const agent of ['ann', 'bob']) locks.ask(agent, 'permit', 'gpu');
    expect(locks.ask('cleo', 'permit', 'gpu', LONG)).toEqual(['queued l-3 1 ann bob']);
    locks.ask('dan', 'permit', 'gpu', LONG);
    locks.emitted();
    locks.release('bob', 'l-2');
    expect(locks.emitted()).toEqual(['released l-2', 'granted cleo l-3 gpu:3']);
  });

  it('are kept for who waits for another resource beside', () => {
    const locks = new LockDrive({ permits: { gpu: 2, x: 1 } });
    locks.ask('ann', 'permit', 'x');
    locks.ask('bob', 'permit', 'gpu+x', LONG);
    expect(locks.ask('cleo', 'permit', 'gpu')).toEqual(['granted cleo l-3 gpu:2']);
    expect(locks.ask('dan', 'permit', 'gpu', LONG)).toEqual(['queued l-4 2 cleo']);
    locks.emitted();
    locks.release('ann', 'l-1');
    expect(locks.emitted()).toEqual(['released l-1', 'granted bob l-2 gpu:3 x:3']);
  });

  it('that were raised are given at once, those that were lowered are not taken away', () => {
    const locks = new LockDrive({ permits: { gpu: 1 } });
    for (const agent of ['ann', 'bob', 'cleo', 'dan']) locks.ask(agent, 'permit', 'gpu', LONG);
    locks.emitted();
    const set = (gpu: number) => {
      const config = { permits: { gpu } };
      locks.host.request([{ type: 'config.set', id: `c${gpu}`, from: 'operator:jo', ts: '', config }], locks.now);
      return locks.emitted();
    };
    expect(set(3)).toEqual(['granted bob l-2 gpu:2', 'granted cleo l-3 gpu:3']);
    expect(set(2)).toEqual([]);
    locks.release('ann', 'l-1');
    expect(locks.of('gpu')).toEqual({ holders: ['bob', 'cleo'], queue: ['dan'] });
    locks.release('bob', 'l-2');
    expect(locks.of('gpu')).toEqual({ holders: ['cleo', 'dan'], queue: [] });
  });

  it('are only of what has some', () => {
    const [error] = new LockDrive({ permits: { gpu: 1 } }).say('ann', 'request', {
      resources: ['gpu', 'toString'],
      lock_type: 'permit',
    });
    expect(error?.['code']).toBe('invalid_envelope');
    expect(error?.['reason']).toMatch(/^resources .*toString/);
  });
});
