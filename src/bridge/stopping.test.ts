import { Writable } from 'node:stream';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { standInHub, type StandIn } from '../client/hub.fixture.ts';
import { HUB_PATHS } from '../client/transport/hubTransport.ts';
import { consoleAdapter } from './adapters/console.ts';
import { runBridge } from './bridge.ts';

const request = z.object({ messages: z.array(z.object({ type: z.string(), id: z.string(), from: z.string() })) });
const place = { after: 0, part: 0, whole: '' };

/** Stands for a hub that answers some types of messages, and cuts off all others. */
let standIn: StandIn;
let answered: readonly string[];
let onAsked: (type: string) => void;

beforeEach(async () => {
  // Those of the bridge's end; what it waits for beside that is real.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  standIn = await standInHub((path, call, response) => {
    if (path === HUB_PATHS.stream) return response.flushHeaders();
    if (path !== HUB_PATHS.request) return response.destroy();
    const { messages } = request.parse(call);
    for (const { type } of messages) onAsked(type);
    if (!messages.every(({ type }) => answered.includes(type))) return response.destroy();
    const replies = messages.map(({ id, from }) => [
      { type: 'bridge.taken', id: `r-${id}`, from: 'synod', to: from, ts: '', epoch: 1, lease_seconds: 1, place },
    ]);
    response.end(JSON.stringify({ replies }));
  });
});
afterEach(async () => {
  vi.useRealTimers();
  await standIn.stop();
});

it.each<[string, readonly string[], string]>([
  ['begins', [], 'bridge.take'],
  ['posts', ['bridge.take'], 'bridge.renew'],
])('ends though the server went away while it %s', async (_, answers, awaited) => {
  answered = answers;
  const asked = new Promise<void>((resolve) => (onAsked = (type) => (type === awaited ? resolve() : undefined)));
  const stop = new AbortController();
  const adapter = consoleAdapter({ out: new Writable() });
  const ended = runBridge({ client: standIn.client, room: 'lab', adapter, leaseSeconds: 1 }, stop.signal);
  await asked;
  stop.abort();
  await vi.advanceTimersByTimeAsync(20_000);
  await expect(ended).resolves.toBeUndefined();
});
