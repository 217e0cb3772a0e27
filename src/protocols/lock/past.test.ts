import { describe, expect, it } from 'vitest';
import type { Envelope } from '../../envelope/envelope.ts';
import { LockDrive, short } from './lock.fixture.ts';
import { countRetry, noPast, noteEnd, PAST_BYTES } from './past.ts';

const HOUR = 3_600_000;
const MANY = 45;

/** The locks `l-1` to `l-45` are ann's; she waits for one more of bob's, by the request `m47`, until second 10. */
function holder(): LockDrive {
  const locks = new LockDrive();
  for (let i = 1; i <= MANY; i++) locks.ask('ann', 'exclusive', `a${i}`, { lease_seconds: 300 });
  locks.ask('bob', 'exclusive', 'b', { lease_seconds: 300 });
  locks.ask('ann', 'exclusive', 'b');
  locks.emitted();
  return locks;
}

const ids = (count: number) => Array.from({ length: count }, (_, i) => `l-${i + 1}`);

/** The replies to a message that was sent before. */
function again(locks: LockDrive, id: string, from: string, resources: string[]): Envelope[] {
  const raw = { id, ts: 'again', type: 'lock.request', from, lock_type: 'exclusive', resources };
  return locks.host.request([raw], locks.now).flat();
}

describe('a denial of an agent with 45 locks', () => {
  it('names 32 of them, counts all, and releases all', () => {
    const locks = holder();
    const [denied] = locks.at(10).events();
    expect(denied).toMatchObject({ type: 'lock.denied', released: ids(32), released_count: MANY });
    expect(locks.view('held')).toBe(1);
  });

  it('repeated names 8 and counts all, also in the next run', () => {
    const locks = holder();
    locks.at(10).restart();
    const [queued, denied] = again(locks, 'm47', 'ann', ['b']);
    expect(queued).toMatchObject({ type: 'lock.queued' });
    expect(denied).toMatchObject({ type: 'lock.denied', released: ids(8), released_count: MANY, retry: 1 });
  });
});

describe('a repeat of a request that was granted', () => {
  it('is answered with the renewal only where there was one', () => {
    const locks = new LockDrive();
    const first = locks.ask('ann', 'exclusive', 'a', { lease_seconds: 60 });
    expect(again(locks, 'm1', 'ann', ['a']).map(short)).toEqual(first);
    locks.at(10).say('ann', 'renew', { lock_id: 'l-1' });
    const replies = again(locks, 'm1', 'ann', ['a']);
    expect(replies.map(short)).toEqual([...first, 'renewed l-1']);
    expect(replies[1]).toMatchObject({ lease_seconds: 60, lease_expires_at: '1970-01-01T00:01:10.000Z' });
  });
});

describe('what outlives the locks', () => {
  it.each([
    [HOUR - 1, 2],
    [HOUR, 1],
  ])('counts a second time-out %d ms after the first as number %d', (later, count) => {
    const first = countRetry(noPast, 'who', 5);
    expect(first.count).toBe(1);
    expect(countRetry(first.past, 'who', 5 + later).count).toBe(count);
  });

  it('is the latest 256 ends, each with at most 8 other locks, within its bytes', () => {
    let memory = noPast;
    const also = Array.from({ length: MANY }, (_, i) => 1_000_000_000 + i);
    for (let n = 1; n <= 300; n++) memory = noteEnd(memory, 2_000_000_000 + n, 'denied', 3, also);
    expect(memory.ends).toHaveLength(256);
    expect(memory.ends[0]).toEqual([2_000_000_045, 'd', 3, MANY, ...also.slice(0, 8)]);
    for (let n = 0; n < 300; n++) memory = countRetry(memory, `${n}`.padStart(24, '0'), HOUR * 500_000).past;
    expect(memory.retries).toHaveLength(256);
    expect(JSON.stringify(memory).length).toBeLessThan(PAST_BYTES);
  });
});
