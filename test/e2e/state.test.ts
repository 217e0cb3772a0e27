import { execFile } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Agent, connect, disconnect, StateConflict, type Json, type StateChange } from '../../src/client/index.ts';
import type { Client } from '@temporalio/client';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { startStack, type Stack } from '../support/stack.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

let stack: Stack;
let client: Client;
let gateway: TestGateway;

beforeAll(async () => {
  stack = await startStack();
  client = await connect({ address: stack.server.address });
  gateway = await startGateway(client);
});

afterAll(async () => {
  await gateway?.close();
  if (client) await disconnect(client);
  await stack?.stop();
});

const storeOf = (agent: string, room: string, of: Client = client) => new Agent(of, agent).room(room).state('cfg');

describe('shared state', () => {
  it('is read, changed and guarded by versions, and a loser is given what the key is now', async () => {
    const ann = storeOf('ann', 'basics');
    const bob = storeOf('bob', 'basics');
    expect(await ann.put('k', { n: 1 }, { ifVersion: 0, ttlSeconds: 600 })).toMatchObject({ version: 1 });
    expect(await bob.get('k')).toMatchObject({ value: { n: 1 }, version: 1, lastModifiedBy: 'ann', ttlSeconds: 600 });
    await bob.put('k', 2);
    const lost = await ann.put('k', 3, { ifVersion: 1 }).catch((error: unknown) => error);
    expect(lost).toBeInstanceOf(StateConflict);
    expect(lost).toMatchObject({ key: 'k', version: 2, value: 2 });
    expect(await ann.transaction([{ key: 'a', value: 1 }, { key: 'k' }], new Map([['k', 2]]))).toBe(4);
    expect(await ann.get('k')).toBeUndefined();
    await expect(ann.transaction([{ key: 'a', value: 2 }], new Map([['k', 2]]))).rejects.toMatchObject({
      key: 'k',
      version: 0,
    });
    expect([...(await ann.getAll(['a', 'k'])).keys()]).toEqual(['a']);
    await expect(ann.put('', 1)).rejects.toThrow('invalid_envelope: key must have 1 to 200 characters');
    await expect(ann.put('big', 'x'.repeat(8_191))).rejects.toMatchObject({ code: 'over_limit' });
  });

  it('counts the increments of 20 agents of three processes, however they meet', async () => {
    const others = [await connect({ address: stack.server.address }), await connect({ address: stack.server.address })];
    const stores = Array.from({ length: 20 }, (_, i) => storeOf(`a${i}`, 'counter', [client, ...others][i % 3]));
    const add = (value: Json | undefined) => (typeof value === 'number' ? value : 0) + 1;
    await Promise.all(
      stores.map(async (store) => {
        for (let i = 0; i < 20; i++) await store.update('n', add, { retries: 1_000 });
      }),
    );
    expect((await stores[0]?.get('n'))?.value).toBe(400);
    await Promise.all(others.map(disconnect));
  });

  it('runs an effect once for all who would', async () => {
    const runs: string[] = [];
    const ran = await Promise.all(
      ['ann', 'bob', 'cy'].map(
        async (agent) => await storeOf(agent, 'once').once('mail-7', async () => void runs.push(agent)),
      ),
    );
    expect(ran.filter(Boolean)).toHaveLength(1);
    expect(runs).toHaveLength(1);
  });

  it('is watched by key, in the order of versions, each change once', async () => {
    const store = storeOf('ann', 'watched');
    await store.put('other', 0);
    const seen: StateChange[] = [];
    const news = new EventEmitter();
    const stop = storeOf('bob', 'watched').watch(
      (change) => {
        seen.push(change);
        news.emit('change');
      },
      { keys: ['cfg/*', 'k'], after: 0 },
    );
    for (let i = 0; i < 5; i++) await Promise.all([store.put(`cfg/${i}`, i), store.put(`x/${i}`, i)]);
    await store.put('k', 'soon gone', { ttlSeconds: 0.5 });
    while (seen.length < 7) await once(news, 'change');
    await store.delete('cfg/0');
    while (seen.length < 8) await once(news, 'change');
    stop();
    expect(seen.map(({ key, reason }) => `${reason} ${key}`)).toEqual([
      ...Array.from({ length: 5 }, (_, i) => `put cfg/${i}`),
      'put k',
      'expired k',
      'deleted cfg/0',
    ]);
    const versions = seen.map(({ version }) => version);
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
  });
});

describe('over HTTP', () => {
  it('has ETags and conditions', async () => {
    const token = await gateway.token({ agent: 'eve', rooms: ['http'] });
    const call = async (method: string, path: string, headers: Record<string, string> = {}, body?: Json) => {
      const response = await fetch(new URL(`/v1/rooms/http/state/cfg${path}`, gateway.url), {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const answer: unknown = await response.json();
      return { status: response.status, etag: response.headers.get('etag'), answer };
    };
    expect(await call('GET', '/limits')).toMatchObject({ status: 404, answer: { error: { code: 'unknown' } } });
    expect(await call('PUT', '/limits', { 'if-none-match': '*' }, { cpu: 2 })).toMatchObject({
      status: 201,
      etag: '"1"',
    });
    expect(await call('PUT', '/limits', { 'if-none-match': '*' }, 0)).toMatchObject({
      status: 412,
      etag: '"1"',
      answer: { key: 'limits', value: { cpu: 2 }, version: 1, last_modified_by: 'eve' },
    });
    expect(await call('PUT', '/limits', { 'if-match': '"1"' }, null)).toMatchObject({ status: 200, etag: '"2"' });
    expect(await call('GET', '/limits')).toMatchObject({
      status: 200,
      etag: '"2"',
      answer: { value: null, version: 2 },
    });
    const once = { 'idempotency-key': 'one write' };
    expect(await call('PUT', '/a%2Fb?ttl_seconds=60', once, 1)).toMatchObject({ status: 200, etag: '"3"' });
    expect(await call('PUT', '/a%2Fb?ttl_seconds=60', once, 1)).toMatchObject({ status: 200, etag: '"3"' });
    expect(await call('PUT', '/a%2Fb', once, 2)).toMatchObject({ status: 409 });
    expect(await call('GET', '?prefix=a')).toMatchObject({
      answer: { entries: [{ key: 'a/b', ttl_seconds: 60 }], revision: 3 },
    });
    expect(await call('DELETE', '/limits', { 'if-match': '"1"' })).toMatchObject({ status: 412 });
    expect(await call('DELETE', '/limits')).toMatchObject({ status: 200, answer: { version: 4 } });
    expect(await call('PUT', '/limits', { 'if-match': '1' }, 1)).toMatchObject({
      status: 400,
      answer: { error: { message: 'if-match must be a version in quotes, e.g. "17"' } },
    });
    expect(await call('PUT', '/limits', {}, 'x'.repeat(9_000))).toMatchObject({ status: 413 });
  });
});

describe('on the command line', () => {
  it('is written and read', async () => {
    const env = { ...process.env, TEMPORAL_ADDRESS: stack.server.address };
    const synod = async (...args: string[]) =>
      await promisify(execFile)(process.execPath, ['--import', 'tsx', MAIN, 'state', ...args], { env });
    const parsed = async (...args: string[]): Promise<unknown> => JSON.parse((await synod(...args)).stdout);
    expect(await parsed('put', 'shell', 'cfg', 'k', '{"n":1}')).toEqual({ key: 'k', version: 1 });
    expect(await parsed('get', 'shell', 'cfg', 'k')).toMatchObject({ value: { n: 1 }, lastModifiedBy: 'operator:cli' });
    await expect(synod('put', 'shell', 'cfg', 'k', '2', '--if-version', '0')).rejects.toMatchObject({
      stderr: expect.stringContaining('key "k" has version 1, not 0: read it, and write with --if-version 1') as string,
    });
    await expect(synod('put', 'shell', 'cfg', 'k', 'text')).rejects.toMatchObject({
      stderr: expect.stringContaining('must be JSON') as string,
    });
  });
});
