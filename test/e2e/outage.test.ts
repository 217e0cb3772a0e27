import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { consoleAdapter } from '../../src/bridge/adapters/console.ts';
import { runBridge } from '../../src/bridge/bridge.ts';
import { Agent, connect, disconnect } from '../../src/client/index.ts';
import { SharedConnection } from '../../src/client/connection/sharedConnection.ts';
import { DEFAULT_TASK_QUEUE } from '../../src/envelope/address.ts';
import { FakeTerminal } from '../bridge/fakes/terminal.ts';
import { startCutProxy, type CutProxy } from '../support/cutProxy.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { startStack, type Stack } from '../support/stack.ts';

const CUT_MS = 10_000;
/** Calls that may be repeated after the server is back; between two of them there are at most 1.2 s. */
const MAX_REPEATS = 4;

let stack: Stack;
/** Before Temporal for each process, and before the gateway for the hub's agents. */
let proxies: { readonly [name in 'gateway' | 'bridge' | 'plain' | 'hub']: CutProxy };
let clients: { readonly [name in 'gateway' | 'bridge' | 'plain' | 'hub']: Client };
let gateway: TestGateway;
let token: string;

beforeAll(async () => {
  stack = await startStack();
  const server = `http://${stack.server.address}`;
  const [toGateway, toBridge, plain] = await Promise.all([
    startCutProxy(server),
    startCutProxy(server),
    startCutProxy(server),
  ]);
  const ofGateway = await connect({ address: new URL(toGateway.url).host });
  gateway = await startGateway(ofGateway);
  token = await gateway.token({ agent: 'by-http', rooms: ['*'], hub: true });
  const hub = await startCutProxy(gateway.url);
  proxies = { gateway: toGateway, bridge: toBridge, plain, hub };
  clients = {
    gateway: ofGateway,
    bridge: await connect({ address: new URL(toBridge.url).host }),
    // As anybody would connect who sets nothing.
    plain: new Client({ connection: await Connection.connect({ address: new URL(plain.url).host }) }),
    hub: await connect({ hub: hub.url, token }),
  };
});
afterAll(async () => {
  await gateway.close();
  await Promise.all(Object.values(clients).map(disconnect));
  await stack.stop();
});

const post = async (text: string): Promise<void> => {
  const { status } = await gateway.ask(token, '/v1/rooms/lab/messages', { type: 'room.post', from: 'by-http', text });
  expect(status).toBe(201);
};

it('gets through with the first connection after a cut of ten seconds: the gateway, the agents of its hub, and the bridge', async () => {
  const terminal = new FakeTerminal();
  const texts = () => terminal.posts.map(({ text }) => text).join('\n');
  const stop = new AbortController();
  const adapter = consoleAdapter({ out: terminal.out });
  const bridge = runBridge({ client: clients.bridge, room: 'lab', adapter, intervalMs: 0 }, stop.signal);
  const ofHub = new Agent(clients.hub, 'by-hub');
  const other = new Agent(clients.plain, 'plain');
  await Promise.all([post('before'), ofHub.post('lab', 'before'), other.post('lab', 'before')]);
  await expect.poll(texts).toContain('by-hub: before');

  await Promise.all(Object.values(proxies).map((proxy) => proxy.cut()));
  const back = Promise.all([post('after'), ofHub.post('lab', 'after')]);
  other.post('lab', 'late').catch(() => undefined);
  await sleep(CUT_MS);
  // One in half a second, and of HTTP one in 1.2 s, against one after 1, 2.6, 5.2 and 9.3 s.
  expect(proxies.plain.attempts).toBeGreaterThan(0);
  expect(proxies.gateway.attempts).toBeGreaterThanOrEqual(2 * proxies.plain.attempts);
  expect(proxies.bridge.attempts).toBeGreaterThanOrEqual(2 * proxies.plain.attempts);
  expect(proxies.hub.attempts).toBeGreaterThan(proxies.plain.attempts);

  const repeats = { gateway: 0, bridge: 0, hub: 0 };
  for (const name of ['gateway', 'bridge', 'hub'] as const)
    SharedConnection.of(clients[name], DEFAULT_TASK_QUEUE).observe(() => (repeats[name] += 1));
  for (const proxy of Object.values(proxies)) proxy.open();
  await back;
  await expect.poll(texts).toMatch(/by-http: after[^]*by-hub: after|by-hub: after[^]*by-http: after/);
  expect({ gateway: proxies.gateway.attempts, bridge: proxies.bridge.attempts }).toEqual({ gateway: 1, bridge: 1 });
  for (const count of Object.values(repeats)) expect(count).toBeLessThanOrEqual(MAX_REPEATS);
  stop.abort();
  await bridge;
});
