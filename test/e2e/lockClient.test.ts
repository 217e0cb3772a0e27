import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Agent, connect, disconnect, type Room } from '../../src/client/index.ts';
import { lockManagerId } from '../../src/envelope/shards.ts';
import { startStack, type Stack } from '../support/stack.ts';

let stack: Stack;
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  stack = await startStack();
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});
afterAll(() => stack.stop());

/** Rooms as different agents see them, each agent a process of its own. */
async function rooms<const Id extends string>(name: string, ...ids: Id[]): Promise<{ readonly [agent in Id]: Room }> {
  const entries = ids.map(async (id) => {
    const client = await connect({ address: stack.server.address });
    stops.push(() => disconnect(client));
    return [id, new Agent(client, id).room(name)] as const;
  });
  return Object.fromEntries(await Promise.all(entries)) as { readonly [agent in Id]: Room };
}

/** Something that a test waits for. */
class Event {
  readonly #controller = new AbortController();
  readonly fired = new Promise<void>((resolve) =>
    this.#controller.signal.addEventListener('abort', () => resolve(), { once: true }),
  );

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  fire(): void {
    this.#controller.abort();
  }
}

const view = z.object({ held: z.number(), waiting: z.number() });
const counts = async (room: string) =>
  view.parse(await stack.client.workflow.getHandle(lockManagerId(room)).query('view'));

/** Until a test says so: others wait. */
async function waiting(room: string, count: number): Promise<void> {
  await expect.poll(async () => (await counts(room)).waiting).toBe(count);
}

const exclusive = { type: 'exclusive' } as const;

describe('holding a lock', () => {
  it('lets one in after the other, in their order, each with a greater token', async () => {
    const { ann, bob, cleo } = await rooms('order', 'ann', 'bob', 'cleo');
    const go = new Event();
    const has = new Event();
    const held: [string, number][] = [];
    const first = ann.lock(['x'], exclusive, async ({ tokens }) => {
      held.push(['ann', tokens.x]);
      has.fire();
      await go.fired;
    });
    await has.fired;
    const second = bob.lock(['x'], exclusive, async ({ tokens }) => void held.push(['bob', tokens.x]));
    await waiting('order', 1);
    const third = cleo.lock(['x'], exclusive, async ({ tokens }) => void held.push(['cleo', tokens.x]));
    await waiting('order', 2);
    go.fire();
    await Promise.all([first, second, third]);
    expect(held.map(([agent]) => agent)).toEqual(['ann', 'bob', 'cleo']);
    expect(held.map(([, token]) => token)).toEqual(held.map(([, token]) => token).sort((a, b) => a - b));
    expect(new Set(held.map(([, token]) => token)).size).toBe(3);
    expect(await counts('order')).toEqual({ held: 0, waiting: 0 });
  });

  it('releases it when the body throws, and hands on what it threw', async () => {
    const { ann } = await rooms('throws', 'ann');
    await expect(ann.lock(['x'], exclusive, () => Promise.reject(new Error('no ink')))).rejects.toThrow('no ink');
    expect(await counts('throws')).toEqual({ held: 0, waiting: 0 });
  });

  it('is kept by renewals for longer than its lease', async () => {
    const { ann, bob } = await rooms('renewed', 'ann', 'bob');
    const [has, go] = [new Event(), new Event()];
    const owner = ann.lock(['x'], { ...exclusive, leaseSeconds: 5 }, async ({ signal }) => {
      has.fire();
      await go.fired;
      return signal.aborted;
    });
    await has.fired;
    // A wait of more than a lease, in which nobody gets in.
    const options = { ...exclusive, waitSeconds: 60, signal: AbortSignal.timeout(6_000) };
    await expect(bob.lock(['x'], options, () => Promise.resolve())).rejects.toMatchObject({ name: 'TimeoutError' });
    go.fire();
    expect(await owner).toBe(false);
  });

  it('is not in the way of its own agent', async () => {
    const { ann } = await rooms('own', 'ann');
    const seen = await ann.lock(['x', 'y'], { type: 'write' }, async ({ tokens }) => {
      const inner = await ann.lock(['y'], { type: 'read' }, (own) => Promise.resolve(own.tokens.y));
      const again = ann.lock(['x', 'y'], { type: 'write' }, (own) => Promise.resolve(own.tokens.x));
      return [tokens.y, inner, tokens.x, await again];
    });
    expect(new Set(seen).size).toBe(1);
    expect(await counts('own')).toEqual({ held: 0, waiting: 0 });
  });
});

describe('losing a lock', () => {
  it('fires its signal, and takes nothing for done that comes after', async () => {
    const { ann, bob } = await rooms('forced', 'ann', 'bob');
    const has = new Event();
    const owner = ann.lock(['x'], exclusive, async ({ signal }) => {
      has.fire();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return 'done';
    });
    await has.fired;
    const next = bob.lock(['x'], exclusive, ({ tokens }) => Promise.resolve(tokens.x));
    await waiting('forced', 1);
    const force = { type: 'lock.force_release', id: 'f', from: 'operator:jo', ts: '', lock_id: 'l-1', reason: 'stuck' };
    await stack.client.workflow.getHandle(lockManagerId('forced')).executeUpdate('request', { args: [[force]] });
    await expect(owner).rejects.toThrow(/stuck|not_holder/);
    expect(await next).toBeGreaterThan(1);
  });
});

describe('waiting in vain', () => {
  it('is denied at once with a wait of 0', async () => {
    const { ann, bob } = await rooms('tries', 'ann', 'bob');
    await ann.lock(['x'], exclusive, async () => {
      const tried = bob.lock(['x'], { type: 'read', waitSeconds: 0 }, () => Promise.resolve());
      await expect(tried).rejects.toMatchObject({ name: 'LockDenied', reason: 'busy', resources: ['x'] });
    });
  });

  it('is broken off by its signal, and leaves nobody in the queue', async () => {
    const { ann, bob } = await rooms('cancels', 'ann', 'bob');
    const stop = new Event();
    await ann.lock(['x'], exclusive, async () => {
      const waits = bob.lock(['x'], { ...exclusive, waitSeconds: 60, signal: stop.signal }, () => Promise.resolve());
      await waiting('cancels', 1);
      stop.fire();
      await expect(waits).rejects.toMatchObject({ name: 'AbortError' });
      await expect.poll(() => counts('cancels')).toEqual({ held: 1, waiting: 0 });
    });
  });

  it('ends two who wait for each other: one gives up what it holds, and both get all in the end', async () => {
    const { ann, bob } = await rooms('deadlock', 'ann', 'bob');
    // Only who waits for the other is short of time; who begins again is not.
    const [outer, inner] = [
      { ...exclusive, waitSeconds: 60 },
      { ...exclusive, waitSeconds: 1 },
    ];
    const runs: string[] = [];
    const [annHas, bobHas] = [new Event(), new Event()];
    const a = ann.lock(['p'], outer, async () => {
      runs.push('ann');
      annHas.fire();
      await bobHas.fired;
      return await ann.lock(['q'], inner, () => Promise.resolve('ann'));
    });
    const b = bob.lock(['q'], outer, async () => {
      runs.push('bob');
      bobHas.fire();
      await annHas.fired;
      return await bob.lock(['p'], inner, () => Promise.resolve('bob'));
    });
    expect(await Promise.all([a, b])).toEqual(['ann', 'bob']);
    // Whoever gave up began again.
    expect(runs.length).toBeGreaterThan(2);
    expect(await counts('deadlock')).toEqual({ held: 0, waiting: 0 });
  });

  it('gives up after three times, which is published to the room', async () => {
    const { ann, bob } = await rooms('gives-up', 'ann', 'bob');
    await ann.lock(['x'], exclusive, async () => {
      const waits = bob.lock(['x'], { ...exclusive, waitSeconds: 0.2 }, () => Promise.resolve());
      await expect(waits).rejects.toMatchObject({ name: 'LockDenied', reason: 'timeout' });
    });
    const log = await stack.client.workflow
      .getHandle(lockManagerId('gives-up'))
      .executeUpdate('receive', { args: [{ agents: ['*'], after: 0 }] });
    expect(JSON.stringify(log)).toContain('lock.escalated');
  });
});

describe('shards', () => {
  it('spread a room’s locks, and take together what shares a tag', async () => {
    await stack.client.workflow.start('lockManager', {
      taskQueue: 'synod',
      workflowId: lockManagerId('sharded'),
      args: [{ room: 'sharded', config: { shards: 4 } }],
    });
    const { ann } = await rooms('sharded', 'ann');
    const ids = new Set<string>();
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f'])
      await ann.lock([name], exclusive, ({ lockId }) => Promise.resolve(ids.add(lockId.replace(/\d+$/, ''))));
    expect(ids.size).toBeGreaterThan(1);
    expect(await ann.lock(['{u}:a', '{u}:b'], exclusive, () => Promise.resolve('both'))).toBe('both');
    const apart = ann.lock(['a', 'b', 'c', 'd'], exclusive, () => Promise.resolve());
    await expect(apart).rejects.toThrow(/invalid_envelope: resources .*shard/);
  });
});

describe('a caller without types', () => {
  it('gets an error for a missing shard, before any request', async () => {
    const { ann } = await rooms('untyped', 'ann');
    const nothing = undefined as never;
    const body = () => Promise.resolve();
    for (const [call, reason] of [
      [() => ann.lock('report' as never, exclusive, body), 'resources must be a list of names'],
      [() => ann.lock(['report'], nothing, body), 'options must be an object'],
      [() => ann.lock(['report'], exclusive, nothing), 'body must be a function'],
      [() => ann.coordinate('main', nothing), 'run must be a function'],
      [() => ann.decide(nothing), 'proposal must be an object'],
      [async () => ann.onProposal(nothing), 'handler must be a function'],
      [async () => ann.onDirective('main', nothing), 'handler must be a function'],
    ] as const)
      await expect(Promise.resolve().then<unknown>(call)).rejects.toThrow(`invalid_envelope: ${reason}`);
    const agent = new Agent(stack.client, 'ann');
    await expect(agent.work('untyped', nothing)).rejects.toThrow('handler must be a function');
    await expect(agent.announce('untyped', nothing)).rejects.toThrow('task must be an object');
    await expect(agent.announce('untyped', { title: 'x' } as never)).rejects.toThrow('task_id is missing');
    await expect(counts('untyped')).rejects.toThrow('not found');
  });
});
