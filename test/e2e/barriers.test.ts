import type { Client } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Agent, connect, disconnect, type Room } from '../../src/client/index.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { say, Wire } from '../support/wire.ts';

let stack: Stack;
/** Two processes. */
let one: Client;
let other: Client;

beforeAll(async () => {
  stack = await startStack();
  const { address } = stack.server;
  [one, other] = await Promise.all([connect({ address }), connect({ address })]);
});
afterAll(async () => {
  await Promise.all([disconnect(one), disconnect(other)]);
  await stack.stop();
});

const roomOf = (room: string, agent: string, client = one): Room => new Agent(client, agent).room(room);
const roster = ['m1', 'm2'];
const TERMS = { roster, timeoutSeconds: 600, fallback: 'fail' } as const;

describe('a barrier', () => {
  it('is met by who comes before it is opened, in the same request', async () => {
    const [m1, m2] = [roomOf('order', 'm1'), roomOf('order', 'm2')];
    const met = await Promise.all([m2.barrier('b'), m1.barrier('b', TERMS)]);
    for (const result of met) expect(result).toMatchObject({ outcome: 'released', arrivedCount: 2, repeated: false });
  });

  it('is met by who comes before it is opened, by another process', async () => {
    const early = roomOf('early', 'm2').barrier('b');
    await expect(Wire.barrier(stack.client, 'early', 'b').view()).rejects.toThrow('not found');
    expect(await roomOf('early', 'm1', other).barrier('b', TERMS)).toMatchObject({ outcome: 'released' });
    expect(await early).toMatchObject({ outcome: 'released', arrivedCount: 2 });
  });

  it('is opened once the workflow that another message has started, unopened, has ended', async () => {
    const wire = Wire.barrier(stack.client, 'stray', 'b');
    expect((await wire.ask(say('barrier.checkin', 'm2', { phase: 'b' })))[0]).toMatchObject({ code: 'closed' });
    const met = Promise.all([roomOf('stray', 'm1').barrier('b', TERMS), roomOf('stray', 'm2').barrier('b')]);
    expect(await wire.view()).toMatchObject({ status: 'unopened' });
    // As it does by itself after a minute.
    await stack.client.workflow.getHandle(wire.workflowId).terminate();
    for (const result of await met) expect(result).toMatchObject({ outcome: 'released', arrivedCount: 2 });
  });

  it('is the same for two members whose durations are no whole milliseconds', async () => {
    const [m1, m2] = [roomOf('rounded', 'm1'), roomOf('rounded', 'm2', other)];
    const terms = { ...TERMS, timeoutSeconds: 100 / 3 };
    const met = await Promise.all([m1.barrier('b', terms), m2.barrier('b', { ...terms, timeoutSeconds: 33.334 })]);
    for (const result of met) expect(result).toMatchObject({ outcome: 'released', arrivedCount: 2 });
    // The same member, with what its first call was rounded to: the same opening.
    expect(await m1.barrier('b', { ...terms, timeoutSeconds: 33.334 })).toMatchObject({ repeated: true });
    await expect(m1.barrier('b', { ...terms, lingerSeconds: -1 })).rejects.toThrow(
      'lingerSeconds must be a number of seconds >= 0',
    );
  });
});

describe('rounds', () => {
  const phases = (results: readonly { phase: string; round: number; repeated: boolean }[]) =>
    results.map(({ phase, round, repeated }) => `${phase} ${round} ${repeated}`);

  it('are met one after the other, and a member that joins later meets the current one', async () => {
    const [m1, m2] = [roomOf('rounds', 'm1').rounds('ph', TERMS), roomOf('rounds', 'm2').rounds('ph', TERMS)];
    for (const round of [1, 2, 3]) {
      expect(await m1.current()).toBe(round);
      const met = await Promise.all([m2.next(), m1.next({ note: 'done' })]);
      expect(phases(met)).toEqual([`ph:${round} ${round} false`, `ph:${round} ${round} false`]);
      expect(met[0].arrived.toSorted()).toEqual(roster);
    }
    // Restarted: what the board does not show yet is passed over all the same.
    const again = roomOf('rounds', 'm2', other).rounds('ph', TERMS);
    const met = await Promise.all([again.next(), m1.next()]);
    expect(phases(met)).toEqual(['ph:4 4 false', 'ph:4 4 false']);
    // Restarted with the number of the last round that it has dealt with, it misses none.
    const exact = roomOf('rounds', 'm2', other).rounds('ph', { ...TERMS, after: 2 });
    expect(phases([await exact.next(), await exact.next()])).toEqual(['ph:3 3 true', 'ph:4 4 true']);
    const last = await Promise.all([exact.next(), m1.next()]);
    expect(phases(last)).toEqual(['ph:5 5 false', 'ph:5 5 false']);
  });

  it('that ended without an agent are passed over by who joins, and refused to who counts', async () => {
    const m1 = roomOf('late', 'm1').rounds('ph', { ...TERMS, roster: ['m1'] });
    expect(phases([await m1.next(), await m1.next()])).toEqual(['ph:1 1 false', 'ph:2 2 false']);
    const late = roomOf('late', 'm2').rounds('ph', { after: 0 });
    await expect(late.next()).rejects.toMatchObject({ code: 'closed' });
    await expect(late.next()).rejects.toMatchObject({ code: 'closed' });
    const joined = roomOf('late', 'm2').rounds('ph', { ...TERMS, roster: ['m2'] });
    expect(phases([await joined.next()])).toEqual(['ph:3 3 false']);
  });
});
