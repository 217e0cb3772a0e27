import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Agent, connect, disconnect } from '../../src/client/index.ts';
import { startCutProxy, type CutProxy } from '../support/cutProxy.ts';
import { startStack, type Stack } from '../support/stack.ts';

const CUT_MS = 10_000;

let stack: Stack;
let ours: CutProxy;
let plain: CutProxy;
let client: Client;
let plainClient: Client;

beforeAll(async () => {
  stack = await startStack();
  [ours, plain] = await Promise.all([startCutProxy(addressOf(stack)), startCutProxy(addressOf(stack))]);
  client = await connect({ address: new URL(ours.url).host });
  plainClient = new Client({ connection: await Connection.connect({ address: new URL(plain.url).host }) });
});
afterAll(async () => {
  await Promise.all([disconnect(client), disconnect(plainClient)]);
  await stack.stop();
});

const addressOf = ({ server }: Stack) => `http://${server.address}`;

it('connects again within a second after a cut of ten, where a plain connection pauses longer and longer', async () => {
  const agent = new Agent(client, 'ours');
  const other = new Agent(plainClient, 'plain');
  await Promise.all([agent.post('lab', 'before'), other.post('lab', 'before')]);
  await Promise.all([ours.cut(), plain.cut()]);
  const back = agent.post('lab', 'after');
  other.post('lab', 'after').catch(() => undefined);
  await sleep(CUT_MS);
  // One in half a second, against one after 1, 2.6, 5.2 and 9.3 s.
  expect(ours.attempts).toBeGreaterThanOrEqual(2 * plain.attempts);
  expect(plain.attempts).toBeGreaterThan(0);
  ours.open();
  await back;
  expect(ours.attempts).toBe(1);
});
