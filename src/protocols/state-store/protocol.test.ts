import { json, type Json } from '../../envelope/fields.ts';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { StoreDrive } from './state.fixture.ts';

const pageOf = z.object({ entries: z.array(z.object({ key: z.string() })), next: z.string().optional() });

describe('versions', () => {
  it('lets one of two writers of the same version write, and answers the other with what the key is now', () => {
    const store = new StoreDrive();
    expect(store.put('ann', 'k', 1)).toMatchObject({ type: 'state.stored', key: 'k', version: 1 });
    expect(store.put('ann', 'k', 2, { if_version: 1 })).toMatchObject({ type: 'state.stored', version: 2 });
    expect(store.put('bob', 'k', 3, { if_version: 1 })).toMatchObject({
      type: 'state.conflict',
      key: 'k',
      version: 2,
      value: 2,
      last_modified_by: 'ann',
      last_modified_at: '1970-01-01T00:00:00.000Z',
    });
    expect(store.put('bob', 'k', 3, { if_version: 2 })).toMatchObject({ type: 'state.stored', version: 3 });
    expect(store.read('k')).toBe(3);
  });

  it('never gives a version again, also where a key is deleted and made anew', () => {
    const store = new StoreDrive();
    store.put('ann', 'k', 1);
    store.put('ann', 'k', 2);
    store.put('ann', 'other', 0);
    expect(store.say('ann', 'delete', { key: 'k' })[0]).toMatchObject({ type: 'state.deleted', version: 4 });
    expect(store.put('bob', 'k', 9, { if_version: 2 })).toMatchObject({ type: 'state.conflict', version: 0 });
    expect(store.put('bob', 'k', 9, { if_version: 0 })).toMatchObject({ type: 'state.stored', version: 5 });
    expect(store.put('cy', 'k', 8, { if_version: 0 })).toMatchObject({ type: 'state.conflict', version: 5 });
    expect(store.say('ann', 'delete', { key: 'k', if_version: 4 })[0]).toMatchObject({ type: 'state.conflict' });
  });

  it('writes once however often a message is sent, over continue-as-new too, and decides a conflict anew', () => {
    const store = new StoreDrive();
    const put = store.message('ann', 'put', { key: 'k', value: 1 });
    const first = store.send(put);
    store.restart();
    for (let i = 0; i < 4; i++) expect(store.send(put)).toEqual(first);
    expect(store.put('bob', 'k', 2)).toMatchObject({ version: 2 });
    expect(store.send(put).map(({ type, version }) => [type, version])).toEqual([
      ['state.stored', 1],
      ['state.changed', 2],
    ]);
    expect(store.send({ ...put, value: 5 })[0]).toMatchObject({ code: 'idempotency_conflict' });
    const early = store.message('cy', 'put', { key: 'new', value: 1, if_version: 3 });
    expect(store.send(early)[0]).toMatchObject({ type: 'state.conflict', version: 0 });
    expect(store.put('bob', 'new', 0)).toMatchObject({ version: 3 });
    expect(store.send(early)[0]).toMatchObject({ type: 'state.stored', version: 4 });
  });

  it('counts 20 agents with 100 increments each to 2,000', () => {
    const store = new StoreDrive();
    store.put('ann', 'n', 0);
    const seen = Array.from({ length: 20 }, () => ({ version: 1, value: 0, done: 0 }));
    while (seen.some(({ done }) => done < 100)) {
      for (const [i, agent] of seen.entries()) {
        if (agent.done === 100) continue;
        const answer = store.put(`a${i}`, 'n', agent.value + 1, { if_version: agent.version });
        if (answer?.type === 'state.stored') agent.done += 1;
        agent.value = answer?.type === 'state.stored' ? agent.value + 1 : Number(answer?.['value']);
        agent.version = Number(answer?.['version']);
      }
    }
    expect(store.read('n')).toBe(2_000);
  });
});

describe('expiry', () => {
  it('ends a key at its time to live, to the millisecond, and a put renews it', () => {
    const store = new StoreDrive();
    store.put('ann', 'a', 1, { ttl_seconds: 10 });
    store.put('ann', 'b', 1, { ttl_seconds: 10 });
    store.put('ann', 'c', 1, { ttl_seconds: 10 });
    store.now = 9_000;
    store.put('ann', 'b', 2, { ttl_seconds: 10 });
    store.put('ann', 'c', 2);
    store.events();
    store.now = 9_999;
    expect(store.read('a')).toBe(1);
    expect(store.host.nextDeadline()?.at).toBe(10_000);
    store.now = 10_000;
    expect(store.read('a')).toBeUndefined();
    expect(store.events()).toMatchObject([{ type: 'state.expired', key: 'a', version: 6 }]);
    expect(store.host.nextDeadline()?.at).toBe(19_000);
    store.now = 19_000;
    expect(store.read('b')).toBeUndefined();
    expect(store.host.nextDeadline()).toBeNull();
    expect(store.read('c')).toBe(2);
  });

  it('ends a thousand keys of one instant', () => {
    const store = new StoreDrive();
    for (let i = 0; i < 1_000; i++) store.put('ann', `k${i}`, i, { ttl_seconds: 5 });
    store.now = 5_000;
    store.host.tick(store.now);
    expect(store.host.view(undefined, store.now)).toMatchObject({ keys_count: 0, revision: 2_000, bytes: 0 });
  });
});

describe('transactions', () => {
  it('does all writes or none', () => {
    const store = new StoreDrive();
    for (const value of [1, 2, 3, 4]) store.put('ann', 'a', value);
    const writes: Json[] = [
      { op: 'put', key: 'a', value: 'x' },
      { op: 'put', key: 'b', value: 'y', ttl_seconds: 1 },
    ];
    store.events();
    expect(store.say('bob', 'txn', { checks: [{ key: 'a', version: 3 }], writes })[0]).toMatchObject({
      type: 'state.conflict',
      failed: [{ key: 'a', version: 4, expected: 3 }],
    });
    expect([store.read('a'), store.read('b'), store.events()]).toEqual([4, undefined, []]);
    expect(
      store.say('bob', 'txn', {
        checks: [
          { key: 'a', version: 4 },
          { key: 'b', version: 0 },
        ],
        writes,
      })[0],
    ).toMatchObject({ type: 'state.committed', revision: 6, versions: { a: 5, b: 6 } });
    expect(store.events().map(({ type, key, version }) => [type, key, version])).toEqual([
      ['state.changed', 'a', 5],
      ['state.changed', 'b', 6],
    ]);
    const both = [writes[0] ?? {}, { op: 'put', key: 'c', value: 'z'.repeat(9_000) }];
    expect(store.say('bob', 'txn', { writes: both })[0]).toMatchObject({ code: 'over_limit' });
    expect(store.host.view(undefined, 0)).toMatchObject({ revision: 6, keys_count: 2 });
  });

  it('refuses a key written twice, and more than 64 checks or writes', () => {
    const store = new StoreDrive();
    const write = (key: string) => ({ op: 'put', key, value: 1 });
    const reasonOf = (fields: object) => store.say('ann', 'txn', { ...fields })[0]?.['reason'];
    expect(reasonOf({ writes: [write('a'), write('a')] })).toBe('writes must not write a key twice');
    expect(reasonOf({ writes: Array.from({ length: 65 }, (_, i) => write(`k${i}`)) })).toBe(
      'writes must hold 1 to 64 writes',
    );
    expect(store.answers('ann', 'txn', { writes: Array.from({ length: 64 }, (_, i) => write(`k${i}`)) })).toEqual([
      'state.committed',
    ]);
  });
});

describe('a key bound to a lock', () => {
  it('takes writes of the latest token alone', () => {
    const store = new StoreDrive();
    expect(store.say('ann', 'lease', { key: 'k', lock_id: 'l-1', token: 7 })[0]).toMatchObject({ code: 'unknown' });
    store.put('ann', 'k', 0);
    expect(store.answers('ann', 'lease', { key: 'k', lock_id: 'l-1', token: 7 })).toEqual(['state.bound']);
    expect(store.put('bob', 'k', 1, { token: 5 })).toMatchObject({ code: 'stale_token' });
    expect(store.put('bob', 'k', 1)).toMatchObject({ code: 'stale_token' });
    expect(store.say('bob', 'delete', { key: 'k' })[0]).toMatchObject({ code: 'stale_token' });
    expect(store.put('ann', 'k', 1, { token: 7 })).toMatchObject({ type: 'state.stored', version: 2 });
    expect(store.put('cy', 'k', 2, { token: 9 })).toMatchObject({ type: 'state.stored', version: 3 });
    expect(store.put('ann', 'k', 3, { token: 7 })).toMatchObject({ code: 'stale_token' });
    expect(store.say('ann', 'lease', { key: 'k', lock_id: 'l-1', token: 8 })[0]).toMatchObject({ code: 'stale_token' });
    expect(store.read('k')).toBe(2);
  });
});

describe('bounds and reads', () => {
  it('stores 8,192 bytes of JSON and 1,000 keys, and not one more', () => {
    const store = new StoreDrive();
    expect(store.put('ann', 'k', 'x'.repeat(8_190))).toMatchObject({ type: 'state.stored' });
    expect(store.put('ann', 'k', 'x'.repeat(8_191))).toMatchObject({ code: 'over_limit' });
    expect(store.put('ann', 'k', 'é'.repeat(4_096))).toMatchObject({ code: 'over_limit' });
    for (let i = 1; i < 1_000; i++) store.put('ann', `k${i}`, i);
    expect(store.put('ann', 'one more', 1)).toMatchObject({ code: 'over_limit' });
    expect(store.put('ann', 'k1', 'changed')).toMatchObject({ type: 'state.stored' });
  });

  it('refuses what would take the whole past its budget, and takes deletes then', () => {
    const store = new StoreDrive();
    const put = (i: number) => store.put('ann', `k${i}`, 'x'.repeat(8_000))?.['code'];
    let i = 0;
    while (put(i) === undefined) i += 1;
    expect(put(i)).toBe('over_limit');
    expect(i).toBeGreaterThan(40);
    expect(store.answers('ann', 'delete', { key: 'k0' })).toEqual(['state.deleted']);
    expect(put(i)).toBeUndefined();
  });

  it('keeps null as a value, keys of any name, and deletes of nothing change nothing', () => {
    const store = new StoreDrive();
    store.put('ann', '__proto__', null);
    store.put('ann', 'constructor', json.parse(JSON.parse('{"__proto__":1}')));
    expect(store.read('__proto__')).toBeNull();
    store.restart();
    expect(store.say('ann', 'list')[0]).toMatchObject({
      entries: [{ key: '__proto__' }, { key: 'constructor' }],
      revision: 2,
    });
    expect(store.say('ann', 'delete', { key: 'absent' })[0]).toMatchObject({ type: 'state.deleted', version: 2 });
    expect(store.say('ann', 'list')[0]).toMatchObject({ revision: 2 });
  });

  it('pages through the keys of a prefix in the order of their code units, values only where asked for', () => {
    const store = new StoreDrive();
    for (const key of ['b/2', 'a', 'b/10', 'b/1', 'c']) store.put('ann', key, { of: key });
    const page = (fields: object) => store.say('ann', 'list', { prefix: 'b/', ...fields })[0];
    const first = page({ limit: 2 });
    expect(first).toMatchObject({ entries: [{ key: 'b/1' }, { key: 'b/10' }], next: 'b/10', revision: 5 });
    expect(JSON.stringify(first)).not.toContain('value');
    expect(page({ after: 'b/10', values: true })).toMatchObject({ entries: [{ key: 'b/2', value: { of: 'b/2' } }] });
    expect(page({ after: 'b/2' })?.['next']).toBeUndefined();
  });

  it('leaves out of a read what does not fit into an envelope, and names it', () => {
    const store = new StoreDrive();
    for (const key of ['a', 'b', 'c']) store.put('ann', key, key.repeat(8_000));
    const answer = store.say('ann', 'get', { keys: ['a', 'b', 'c', 'absent'] })[0];
    expect(answer).toMatchObject({ entries: [{ key: 'a' }], left: ['b', 'c'], revision: 3 });
    let after: string | undefined;
    const keys: string[] = [];
    do {
      const page = pageOf.parse(
        store.say('ann', 'list', { values: true, ...(after === undefined ? {} : { after }) })[0],
      );
      keys.push(...page.entries.map(({ key }) => key));
      after = page.next;
    } while (after !== undefined);
    expect(keys).toEqual(['a', 'b', 'c']);
  });

  it('reads as of now however often the same message is sent', () => {
    const store = new StoreDrive();
    const get = store.message('ann', 'get', { keys: ['k'] });
    expect(store.send(get)[0]).toMatchObject({ entries: [] });
    store.put('ann', 'k', 1);
    expect(store.send(get)[0]).toMatchObject({ entries: [{ value: 1, version: 1, ttl_seconds: null }] });
    expect(store.events()).toMatchObject([{ type: 'state.changed', value: 1 }]);
  });
});

it('publishes to the room which key was written by whom, and never what', () => {
  const store = new StoreDrive();
  store.put('ann', 'k', 'secret');
  store.say('ann', 'txn', { writes: [{ op: 'put', key: 'l', value: 'secret' }] });
  const published = store.host.mirror.take('synod:lab:state:cfg', 0);
  expect(published.map(({ seq, envelope: { key, version, last_modified_by: by } }) => [seq, key, version, by])).toEqual(
    [
      [1, 'k', 1, 'ann'],
      [2, 'l', 2, 'ann'],
    ],
  );
  expect(JSON.stringify(published)).not.toContain('secret');
  expect(JSON.stringify(store.events())).toContain('secret');
});
