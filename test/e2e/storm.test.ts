import type { Client } from '@temporalio/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { OwnedChild } from '../../src/dev/child.ts';
import { stormHeldTask, stormRoom } from '../chaos/scenarios.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { startWorkerProcess } from '../support/workerProcess.ts';

// The storm of `npm run chaos`, but a quarter as long.
const SIZE = { senders: 50, seconds: 5 };

let stack: Stack;
let worker: OwnedChild;
let clients: Client[];

beforeAll(async () => {
  stack = await startStack({ worker: null });
  worker = await startWorkerProcess(stack.server.address);
  clients = await Promise.all(Array.from({ length: 4 }, () => stack.connect()));
});
afterAll(async () => {
  await worker.stop();
  await stack.stop();
});

it.each([
  ['room', stormRoom],
  ['held task', stormHeldTask],
] as const)('loses no acknowledged signal of 50 senders to a %s', async (name, scenario) => {
  const outcome = await scenario(clients, `storm-${name.replace(' ', '-')}`, SIZE);
  console.info(`storm of a ${name}: ${JSON.stringify(outcome)}`);
  expect(outcome.problems).toEqual([]);
  expect(worker.running()).toBe(true);
});
