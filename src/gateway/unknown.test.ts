import { afterEach, beforeEach, expect, it } from 'vitest';
import { standInHub, type StandIn } from '../client/hub.fixture.ts';
import { HUB_PATHS } from '../client/transport/hubTransport.ts';
import { createGateway, type Gateway } from './app.ts';
import { issue } from './tokens.ts';
import type { TokenSource } from './tokenStore.ts';

const { token, stored } = issue({ agent: 'ann', rooms: ['*'], hub: true });

/** A log of five entries that its reader receives never; a look-up is answered, or refused for good. */
let standIn: StandIn;
let gateway: Gateway;
let failing: boolean;
let tokens: TokenSource;
/** How often a token was looked up in vain. */
let looks: number;

beforeEach(async () => {
  tokens = { find: async () => stored, holds: async () => true };
  looks = 0;
  failing = false;
  standIn = await standInHub((path, _call, response) => {
    if (path === HUB_PATHS.stream) return response.flushHeaders();
    if (failing) {
      response.statusCode = 403;
      return response.end(JSON.stringify({ error: { code: 'unauthorized', message: 'not now' } }));
    }
    response.end(JSON.stringify({ events: [], next: 0, truncated: false, now: new Date(0).toISOString() }));
  });
  gateway = createGateway(standIn.client, {
    tokens: { find: async (given) => await tokens.find(given), holds: async (one) => await tokens.holds(one) },
    heartbeatMs: 20,
    log: () => {
      throw new Error('the disk is full');
    },
  });
});
afterEach(async () => {
  gateway.close();
  await standIn.stop();
});

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function ask(path: string, body?: object): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const request = new Request(new URL(path, 'http://gateway'), {
    headers,
    ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
  });
  const response = await gateway.fetch(request);
  const json: unknown = await response.json();
  return { status: response.status, body: json };
}

const READS: [string, () => Promise<Answer>][] = [
  ['a page', async () => await ask('/v1/rooms/lab/messages?after=5')],
  ['a wait', async () => await ask('/v1/rooms/lab/messages?after=5&wait_seconds=1')],
  ['a stream', async () => await ask('/v1/rooms/lab/stream?after=5')],
  ...[HUB_PATHS.receive, HUB_PATHS.stream].map((path): [string, () => Promise<Answer>] => [
    `${path} of the hub`,
    async () => await ask(path, { workflow_id: 'synod:lab:room', agents: ['ann'], after: 5 }),
  ]),
];
const unknown = {
  status: 503,
  body: { error: { code: 'unavailable', message: 'synod:lab:room does not answer: come again' } },
};

it.each(READS)('answers 503 to %s where it cannot be found out how the log stands', async (_, read) => {
  expect((await ask('/v1/rooms/lab/messages?after=0')).status).toBe(200);
  failing = true;
  expect(await read()).toEqual(unknown);
});

it.each(READS)('answers 503 to %s where the first look-up fails, and not that there is no room', async (_, read) => {
  failing = true;
  expect(await read()).toEqual(unknown);
});

it('answers 503, not 401, where tokens cannot be looked up, and goes on where its log fails', async () => {
  tokens = { find: async () => await Promise.reject(new Error('no database')), holds: async () => true };
  expect(await ask('/v1/rooms/lab/messages?after=0')).toEqual({
    status: 503,
    body: { error: { code: 'unavailable', message: 'tokens cannot be looked up: come again' } },
  });
});

it('keeps a stream, and all others, where its token cannot be looked up', async () => {
  const headers = { authorization: `Bearer ${token}` };
  const { body } = await gateway.fetch(new Request('http://gateway/v1/rooms/lab/stream?after=0', { headers }));
  tokens = {
    find: async () => stored,
    holds() {
      looks += 1;
      throw new Error('no database');
    },
  };
  let text = '';
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    text += new TextDecoder().decode(chunk);
    if (looks >= 3 && text.endsWith('id: 0\n\n')) break;
  }
  expect(text).not.toContain('revoked');
});

it('answers that a log is lost where it is known to end before', async () => {
  expect(await ask('/v1/rooms/lab/messages?after=5')).toMatchObject({
    status: 200,
    body: { events: [], next: 0, truncated: true },
  });
});
