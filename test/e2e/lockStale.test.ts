import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Agent, connect, disconnect, type Lock } from '../../src/client/index.ts';
import { lockManagerId } from '../../src/envelope/shards.ts';
import { Lockers } from '../support/lockers.ts';
import { startProxy } from '../support/proxy.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { Wire } from '../support/wire.ts';

let stack: Stack;

beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

const view = z.object({ waiting: z.number() });
const waiting = async (room: string) =>
  view.parse(await stack.client.workflow.getHandle(lockManagerId(room)).query('view')).waiting;

/** An agent that takes x and holds it until it is asked to release it. */
async function holding(room: string, agent: string) {
  let release: () => void = () => undefined;
  const until = new Promise<void>((resolve) => (release = resolve));
  let ended: Promise<void> = Promise.resolve();
  const tokens = await new Promise<Lock<'x'>['tokens']>((resolve, reject) => {
    ended = new Agent(stack.client, agent)
      .room(room)
      .lock(['x'], { type: 'exclusive', waitSeconds: 60 }, async (lock) => {
        resolve(lock.tokens);
        await until;
      });
    ended.catch(reject);
  });
  return {
    token: tokens.x,
    release: async () => {
      release();
      await ended;
    },
  };
}

/** While a waiter is away x is granted to it, lost again, and taken by another. */
async function outlived(room: string, h: { release: () => Promise<void> }) {
  await h.release();
  await Wire.locks(stack.client, room).until(({ type, holder }) => type === 'lock.expired' && holder === 'w-0');
  return await holding(room, 'o');
}

describe('a waiter that is away for longer than the lease that it is granted', { timeout: 60_000 }, () => {
  it('does not begin under the dead grant where its process was stopped', async () => {
    const room = 'stopped';
    const h = await holding(room, 'h');
    const { address } = stack.server;
    const waiter = await Lockers.start(address, { room, name: 'w', resource: 'x', leaseSeconds: 2, waitSeconds: 60 });
    await waiter.said(/^asks$/);
    await expect.poll(() => waiting(room)).toBe(1);
    waiter.pause();
    const o = await outlived(room, h);
    waiter.resume();
    await expect.poll(() => waiting(room), { timeout: 20_000 }).toBe(1);
    await o.release();
    const [[agent, token] = []] = await waiter.served();
    expect(agent).toBe('w-0');
    expect(token).toBeGreaterThan(o.token);
  });

  it('does not begin under the dead grant where its connection was cut', async () => {
    const room = 'cut';
    let healed: Promise<void> = Promise.resolve();
    let heal: () => void = () => undefined;
    const proxy = await startProxy(stack.server.address, async (call) => {
      await call.forward();
      await healed;
      call.pass();
    });
    const client = await connect({ address: proxy.address });
    try {
      const h = await holding(room, 'h');
      const runs: number[] = [];
      const options = { type: 'exclusive', leaseSeconds: 2, waitSeconds: 60 } as const;
      const done = new Agent(client, 'w-0').room(room).lock(['x'], options, async ({ tokens, signal }) => {
        runs.push(tokens.x);
        return signal.aborted;
      });
      await expect.poll(() => waiting(room)).toBe(1);
      healed = new Promise((resolve) => (heal = resolve));
      const o = await outlived(room, h);
      heal();
      await expect.poll(() => waiting(room), { timeout: 20_000 }).toBe(1);
      expect(runs).toEqual([]);
      await o.release();
      expect(await done).toBe(false);
      expect(runs).toHaveLength(1);
      expect(runs[0]).toBeGreaterThan(o.token);
    } finally {
      heal();
      await disconnect(client);
      await proxy.stop();
    }
  });
});
