import { describe, expect, it } from 'vitest';
import { locksPage, type LockRow } from '../../envelope/lock.ts';
import { LockDrive } from './lock.fixture.ts';

function read(locks: LockDrive, query: object = {}): LockRow[] {
  const rows: LockRow[] = [];
  for (let after: string | undefined, pages = 0; ; pages++) {
    if (pages > 5_000) throw new Error('the pages have no end');
    const page = locksPage.parse(locks.host.view({ locks: true, ...query, ...(after ? { after } : {}) }, locks.now));
    rows.push(...page.rows);
    if (page.next === undefined) return rows;
    after = page.next;
  }
}

const ids = (rows: readonly LockRow[]) => rows.map(({ lock_id }) => lock_id);
const numbered = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => `l-${from + i}`);

describe('the pages of the locks', () => {
  it('show what is held, what waits, and what is rolled back', () => {
    const locks = new LockDrive({ rollback_seconds: 20 });
    locks.ask('ann', 'exclusive', 'a+b', { lease_seconds: 1 });
    locks.at(1).ask('bob', 'read', 'c');
    locks.ask('cleo', 'write', 'a', { wait_seconds: 30 });
    expect(read(locks)).toEqual([
      {
        lock_id: 'l-1',
        status: 'rolling_back',
        lock_type: 'exclusive',
        agent: 'ann',
        resources: ['a', 'b'],
        since: '1970-01-01T00:00:01.000Z',
        ends_at: '1970-01-01T00:00:21.000Z',
        token: 1,
      },
      {
        lock_id: 'l-2',
        status: 'held',
        lock_type: 'read',
        agent: 'bob',
        resources: ['c'],
        since: '1970-01-01T00:00:01.000Z',
        ends_at: '1970-01-01T00:01:01.000Z',
        token: 2,
      },
      {
        lock_id: 'l-3',
        status: 'waiting',
        lock_type: 'write',
        agent: 'cleo',
        resources: ['a'],
        since: '1970-01-01T00:00:01.000Z',
        ends_at: '1970-01-01T00:00:31.000Z',
      },
    ]);
    expect(ids(read(locks, { resource: 'a' }))).toEqual(['l-1', 'l-3']);
    expect(ids(read(locks, { agent: 'bob' }))).toEqual(['l-2']);
    expect(ids(read(locks, { agent: 'bob', resource: 'a' }))).toEqual([]);
  });

  it.each([1, 7, 200, 1_000])('of %d have every one of 1,200 waiters for one resource, once, in order', (limit) => {
    const locks = new LockDrive();
    for (let i = 0; i < 1_200; i++) locks.ask(`w${i}`, 'exclusive', 'a', { wait_seconds: 600 });
    expect(ids(read(locks, { limit }))).toEqual(numbered(1, 1_200));
    expect(ids(read(locks, { limit, resource: 'a' }))).toEqual(numbered(1, 1_200));
    expect(ids(read(locks, { limit, agent: 'w700' }))).toEqual(['l-701']);
  });

  it('have all 45 locks of an agent, also where a page ends between them', () => {
    const locks = new LockDrive();
    for (let i = 0; i < 45; i++) {
      locks.ask('ann', 'exclusive', `a${i}`);
      locks.ask('bob', 'exclusive', `b${i}`);
    }
    expect(ids(read(locks, { agent: 'ann', limit: 7 }))).toEqual(numbered(1, 90).filter((_, i) => i % 2 === 0));
  });

  it('go on after a lock that has been released meanwhile', () => {
    const locks = new LockDrive();
    for (const name of ['a', 'b', 'c']) locks.ask('ann', 'exclusive', name);
    locks.release('ann', 'l-2');
    expect(ids(locksPage.parse(locks.host.view({ locks: true, after: 'l-2' }, 0)).rows)).toEqual(['l-3']);
  });

  it('are those of a shard by its own ids', () => {
    const locks = new LockDrive({ shards: 4 }, 'synod:lab:locks:3');
    for (let i = 0; i < 100; i++) locks.ask('ann', 'exclusive', `r${i}`);
    const all = ids(read(locks, { limit: 5 }));
    expect(all.length).toBeGreaterThan(10);
    expect(all).toEqual(all.map((_, i) => `l-3-${i + 1}`));
  });

  it('are small enough for a query, also with as much as the state takes', () => {
    const locks = new LockDrive();
    const reason = (i: number) => locks.ask(`a${i}`, 'exclusive', `${i}-${'ü'.repeat(140)}`)[0];
    let taken = 0;
    while (reason(taken) !== 'error over_limit') taken += 1;
    expect(taken).toBeGreaterThan(500);
    const page = JSON.stringify(locks.host.view({ locks: true, limit: 1_000 }, 0));
    expect(Buffer.byteLength(page)).toBeLessThan(1024 * 1024);
    expect(read(locks, { limit: 1_000 })).toHaveLength(taken);
  });

  it.each([
    [{ locks: false }, 'locks'],
    [{ limit: 0 }, 'limit'],
    [{ limit: 1_001 }, 'limit'],
    [{ after: 'l-3-1' }, 'after'],
    [{ after: 'x' }, 'after'],
    [{ agent: '' }, 'agent'],
    [{ resource: 7 }, 'resource'],
  ])('are refused for %j', (query, field) => {
    expect(() => new LockDrive().host.view({ locks: true, ...query }, 0)).toThrow(`invalid_envelope: ${field} `);
  });

  it('are not what anything else asks for: that gets the whole view', () => {
    for (const query of ['locks', 5, {}, { board: true }, null])
      expect(new LockDrive().host.view(query, 0)).toMatchObject({ type: 'lockManager', resources_count: 0 });
  });
});
