import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Agent, connect, disconnect, type Room } from '../../src/client/index.ts';
import { shardOf } from '../../src/envelope/shards.ts';
import { startStack, type Stack } from '../support/stack.ts';

const run = promisify(execFile);
const CLI = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

let stack: Stack;
let client: Awaited<ReturnType<typeof connect>>;
beforeAll(async () => {
  stack = await startStack();
  client = await connect({ address: stack.server.address });
});
afterAll(async () => {
  await disconnect(client);
  await stack.stop();
});

function roomOf(agent: string, name: string): Room {
  return new Agent(client, agent).room(name);
}

async function tried(room: Room, resource: string): Promise<string> {
  return await room.lock([resource], { type: 'permit', waitSeconds: 0 }, async () => 'granted').catch(String);
}

/** The answers that others get while one holds a permit. */
async function beside(name: string, resource: string): Promise<string[]> {
  return await roomOf('ann', name).lock([resource], { type: 'permit' }, async () => {
    const bob = roomOf('bob', name);
    return await bob.lock([resource], { type: 'permit' }, async () => [await tried(roomOf('cy', name), resource)]);
  });
}

describe('room.configureLocks', () => {
  it('gives a resource its permits, and takes them away', async () => {
    const setup = roomOf('operator:setup', 'permits');
    const configured = await setup.configureLocks({ permits: { model: 2 }, rollbackSeconds: 3 });
    expect(configured).toEqual({ permits: { model: 2 }, rollback_seconds: 3 });
    expect(await beside('permits', 'model')).toEqual([expect.stringContaining('denied: busy')]);
    // What is not said stays, and what is said is all there is.
    expect(await setup.configureLocks({ permits: { other: 1 } })).toEqual({
      permits: { other: 1 },
      rollback_seconds: 3,
    });
    expect(await tried(roomOf('ann', 'permits'), 'model')).toContain('"model", which has no permits');
    expect(await tried(roomOf('ann', 'permits'), 'other')).toBe('granted');
  });

  it('reaches every shard, and keeps their number', async () => {
    const setup = roomOf('operator:setup', 'shards');
    await setup.configureLocks({ shards: 3 });
    const resources = ['a', 'b', 'c', 'd', 'e', 'f'];
    expect(new Set(resources.map((resource) => shardOf(resource, 3)))).toEqual(new Set([0, 1, 2]));
    await setup.configureLocks({ permits: Object.fromEntries(resources.map((resource) => [resource, 2])) });
    for (const resource of resources) expect(await beside('shards', resource)).toHaveLength(1);
    await expect(setup.configureLocks({ shards: 4, permits: {} })).rejects.toThrow('config.shards is 3 since');
    expect(await tried(roomOf('ann', 'shards'), 'a')).toBe('granted');
  });

  it('is for operators, and names a bad key', async () => {
    await expect(roomOf('ann', 'bad').configureLocks({ rollbackSeconds: 1 })).rejects.toMatchObject({
      code: 'unauthorized',
    });
    const setup = roomOf('operator:setup', 'bad');
    for (const [config, key] of [
      [{ permits: { model: -1 } }, 'config.permits.model'],
      [{ permits: { model: Number.NaN } }, 'config.permits.model'],
      [{ rollbackSeconds: -1 }, 'config.rollback_seconds'],
      [{ shards: 0 }, 'config.shards'],
      [{ maxWaits: 0 }, 'config.max_waits'],
    ] as const)
      await expect(setup.configureLocks(config)).rejects.toThrow(key);
  });

  it('is `synod locks configure` on the command line', async () => {
    const env = { ...process.env, TEMPORAL_ADDRESS: stack.server.address };
    const cli = async (...args: string[]) =>
      await run(process.execPath, ['--import', 'tsx', CLI, 'locks', 'configure', 'cli', ...args], { env });
    const { stdout } = await cli('--permits', 'model=2', '--permits', 'a=b=1', '--shards', '1', '--max-waits', '8');
    expect(JSON.parse(stdout)).toEqual({ permits: { model: 2, 'a=b': 1 }, shards: 1, max_waits: 8 });
    await expect(cli('--permits', 'model')).rejects.toThrow('must be a resource, "=" and a whole number');
    await expect(cli('--shards', 'many')).rejects.toThrow(
      "'--shards <n>' argument 'many' is invalid. must be a whole number >= 1",
    );
  });
});
