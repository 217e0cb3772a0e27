import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Follower } from '../support/follower.ts';
import { Lockers } from '../support/lockers.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { retried, say, Wire, type Envelope } from '../support/wire.ts';

/** 125 make a thousand waiters. */
const agents = Number(process.env['SYNOD_LOCK_AGENTS'] ?? 20);
const processes = 8;

let stack: Stack;

beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

const LONG = { wait_seconds: 300, lease_seconds: 300 };

function request(from: string, resources: readonly string[], more: object = {}): Envelope {
  return say('lock.request', from, { resources, lock_type: 'exclusive', ...more });
}

/** A lock that the test holds, so that the others wait. */
async function held(wire: Wire, resource: string): Promise<() => Promise<void>> {
  const [grant] = await retried(() => wire.ask(request('keeper', [resource], LONG)));
  expect(grant).toMatchObject({ type: 'lock.granted' });
  return async () =>
    void (await retried(() => wire.ask(say('lock.release', 'keeper', { lock_id: grant?.['lock_id'] }))));
}

const headOf = (view: Record<string, unknown>) => z.object({ head: z.number() }).parse(view['log']).head;
const isOf = (type: string) => (event: Envelope) => event.type === type;
const numberOf = (event: Envelope) => Number(/\d+$/.exec(String(event['lock_id']))?.[0]);

describe('many waiters for one lock', { timeout: 900_000 }, () => {
  it(`of 8 processes, ${processes * agents} in all, have their turn in order, each once`, async () => {
    const total = processes * agents;
    const wire = Wire.locks(stack.client, 'contended', { config: { max_waits: 2 * processes } });
    const release = await held(wire, 'x');
    const lockers = await Promise.all(
      Array.from({ length: processes }, (_, i) =>
        Lockers.start(stack.server.address, { room: 'contended', name: `p${i}`, agents, resource: 'x' }),
      ),
    );
    await expect.poll(async () => (await wire.view())['waiting'], { timeout: 600_000 }).toBe(total);
    const log = new Follower(wire, headOf(await wire.view()));
    const from = performance.now();
    await release();
    const served = (await Promise.all(lockers.map((each) => each.served()))).flat();
    const seconds = (performance.now() - from) / 1000;
    await log.until((events) => events.filter(isOf('lock.released')).length === total + 1);
    await log.stop();

    const grants = log.events.filter(isOf('lock.granted'));
    // In the order in which their requests were numbered, and nobody twice.
    const numbers = grants.map(numberOf);
    expect(numbers).toEqual(Array.from({ length: total }, (_, i) => i + 2));
    expect(new Set(grants.map(({ to }) => to)).size).toBe(total);
    // The bodies have run with those very tokens, in that order, each agent's once.
    const inTurn = served.sort(([, one], [, other]) => one - other);
    expect(inTurn.map(([agent]) => agent)).toEqual(grants.map(({ to }) => to));
    expect(new Set(inTurn.map(([, token]) => token)).size).toBe(total);
    // One holds it at a time.
    const turns = log.events
      .filter(({ type, from: who }) => who === 'synod' && /granted|released/.test(type))
      .slice(0, -1);
    const expected = turns.map((_, i) => (i % 2 === 0 ? 'lock.released' : 'lock.granted'));
    expect(turns.map(({ type }) => type)).toEqual(expected);
    expect(await wire.view()).toMatchObject({ held: 0, waiting: 0 });
    console.info(`locks: ${total} waiters of ${processes} processes served in ${seconds.toFixed(1)} s`);
  });

  it('of which 50 are killed cost the others no turn, and at most a lease each', async () => {
    const dead = 50;
    const wire = Wire.locks(stack.client, 'dead', { config: { rollback_seconds: 0 } });
    const release = await held(wire, 'x');
    const log = new Follower(wire);
    const mortal = { room: 'dead', name: 'mortal', agents: dead, resource: 'x', leaseSeconds: 0.1 };
    const killed = await Lockers.start(stack.server.address, mortal);
    await log.until((events) => events.filter(isOf('lock.queued')).length === dead);
    const others = await Lockers.start(stack.server.address, {
      room: 'dead',
      name: 'alive',
      agents: 20,
      resource: 'x',
    });
    await log.until((events) => events.filter(isOf('lock.queued')).length === dead + 20);
    await killed.child.kill();
    await release();
    const served = await others.served();
    expect(new Set(served.map(([agent]) => agent)).size).toBe(20);
    await log.until((events) => events.filter(isOf('lock.granted')).length === 1 + dead + 20);
    await log.stop();

    const events = log.events.filter(({ type }) => /^lock\.(granted|expired)$/.test(type)).slice(1);
    const steps = events.slice(0, 2 * dead);
    // Each of the dead has one turn, which its lease ends; the next has its own in that very step.
    expect(steps.map(({ type }) => type)).toEqual(
      Array.from({ length: 2 * dead }, (_, i) => (i % 2 === 0 ? 'lock.granted' : 'lock.expired')),
    );
    for (let i = 1; i < 2 * dead; i += 2) {
      expect(steps[i]).toMatchObject({ lock_id: steps[i - 1]?.['lock_id'], holder: steps[i - 1]?.to });
      expect(events[i + 1]?.['ts']).toBe(steps[i]?.['ts']);
    }
    expect(events.slice(2 * dead).map(({ type }) => type)).toEqual(Array.from({ length: 20 }, () => 'lock.granted'));
    expect(await wire.view()).toMatchObject({ held: 0, waiting: 0 });
  });
});
