import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Agent, connect, disconnect } from '../../src/client/index.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { retried, say, Wire, type Envelope } from '../support/wire.ts';

let stack: Stack;

beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

const LONG = { wait_seconds: 300, lease_seconds: 300 };
const TERMINAL = new Set(['lock.granted', 'lock.denied', 'lock.cancelled']);

function request(from: string, resources: readonly string[], more: object = {}): Envelope {
  return say('lock.request', from, { resources, lock_type: 'exclusive', ...more });
}

const synodsOf = async (wire: Wire) =>
  (await retried(() => wire.log())).map(({ envelope }) => envelope).filter(({ from }) => from === 'synod');

it('a cancel that races a grant, 200 times, has one terminal answer each', async () => {
  const [mine, theirs] = [stack.client, await stack.connect()];
  const each = 20;
  const ends: Record<string, number> = {};
  for (let round = 0; round < 10; round++) {
    const holders = Wire.locks(mine, `race-${round}`);
    const waiters = Wire.locks(theirs, `race-${round}`);
    const names = Array.from({ length: each }, (_, i) => `r${i}`);
    const held = await holders.request(...names.map((name) => request('holder', [name], LONG)));
    const waits = names.map((name, i) => request(`waiter-${i}`, [name], LONG));
    const queued = await waiters.request(...waits);
    const running = names.map(async (_, i) => {
      const release = say('lock.release', 'holder', { lock_id: held[i]?.[0]?.['lock_id'] });
      const cancel = say('lock.cancel', `waiter-${i}`, { lock_id: queued[i]?.[0]?.['lock_id'] });
      const releases = () => retried(() => holders.ask(release));
      // Half of the cancels come as signals, and in each half one after the other comes first.
      const cancels = async () => await (i % 2 === 0 ? retried(() => waiters.ask(cancel)) : waiters.signal(cancel));
      await Promise.all(i % 4 < 2 ? [releases(), cancels()] : [cancels(), releases()]);
    });
    await Promise.all(running);
    await expect.poll(async () => (await holders.view())['held']).toBe(0);
    const log = await synodsOf(holders);
    for (const [i, wait] of queued.entries()) {
      const about = log.filter((event) => event['lock_id'] === wait[0]?.['lock_id']).map(({ type }) => type);
      const terminal = about.filter((type) => TERMINAL.has(type));
      expect(terminal, `waiter ${i} of round ${round}: ${about.join(' ')}`).toHaveLength(1);
      // Granted after all, the cancel gives it back.
      expect(about.at(-1)).toBe(terminal[0] === 'lock.granted' ? 'lock.released' : 'lock.cancelled');
      ends[String(terminal[0])] = (ends[String(terminal[0])] ?? 0) + 1;
    }
    expect(await holders.view()).toMatchObject({ held: 0, waiting: 0 });
  }
  console.info(`locks: of 200 races ${JSON.stringify(ends)}`);
  expect((ends['lock.granted'] ?? 0) + (ends['lock.cancelled'] ?? 0)).toBe(10 * each);
});

describe('two who want the same two', () => {
  it('in the one order and in the other never wait for each other', async () => {
    const { address } = stack.server;
    const clients = [await connect({ address }), await connect({ address })] as const;
    let inside = 0;
    const turns: number[] = [];
    await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        const room = new Agent(clients[i % 2] ?? clients[0], `agent-${i}`).room('two');
        const names = i % 2 === 0 ? (['a', 'b', 'a'] as const) : (['b', 'a'] as const);
        await room.lock(names, { type: 'exclusive', waitSeconds: 300 }, async ({ tokens }) => {
          inside += 1;
          expect([inside, tokens.a]).toEqual([1, tokens.b]);
          turns.push(tokens.a);
          await new Promise((resolve) => setImmediate(resolve));
          inside -= 1;
        });
      }),
    );
    await Promise.all(clients.map((client) => disconnect(client)));
    expect(new Set(turns).size).toBe(40);
    expect(turns).toEqual(turns.toSorted((one, other) => one - other));
    expect(await Wire.locks(stack.client, 'two').view()).toMatchObject({ held: 0, waiting: 0 });
  });

  it('and hold one each while they ask for the other both end in time, and nothing is left held', async () => {
    const wire = Wire.locks(stack.client, 'crossed');
    for (const [agent, own] of Object.entries({ ann: 'a', bob: 'b' }))
      expect((await wire.ask(request(agent, [own], LONG)))[0]).toMatchObject({ type: 'lock.granted' });
    const [[forB] = [], [forA] = []] = await wire.request(
      request('ann', ['b'], { wait_seconds: 1 }),
      request('bob', ['a'], { wait_seconds: 60 }),
    );
    expect([forB, forA]).toMatchObject([{ type: 'lock.queued' }, { type: 'lock.queued' }]);
    await expect.poll(async () => (await wire.view())['waiting']).toBe(0);
    const log = await synodsOf(wire);
    const denied = log.filter(({ type }) => type === 'lock.denied');
    // Ann's wait ends first: it costs her what she holds, which is bob's in the same step, before his own wait ends.
    expect(denied).toMatchObject([{ to: 'ann', reason: 'timeout', lock_id: forB?.['lock_id'], released: ['l-1'] }]);
    const granted = log.filter(({ type, lock_id: id }) => type === 'lock.granted' && id === forA?.['lock_id']);
    expect(granted).toMatchObject([{ to: 'bob', ts: denied[0]?.['ts'] }]);
    for (const id of ['l-2', forA?.['lock_id']]) await wire.ask(say('lock.release', 'bob', { lock_id: id }));
    expect(await wire.view()).toMatchObject({ held: 0, waiting: 0, resources_count: 0 });
  });
});
