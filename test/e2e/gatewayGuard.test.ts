import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HUB_PATHS } from '../../src/client/transport/hubTransport.ts';
import { messageSchemas } from '../../src/gateway/incoming.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { startStack, type Stack } from '../support/stack.ts';

let stack: Stack;
let gateway: TestGateway;
let ann: string;
const logged: string[] = [];

beforeAll(async () => {
  stack = await startStack();
  gateway = await startGateway(stack.client, { log: (line) => logged.push(line) });
  ann = await gateway.token({ agent: 'ann', rooms: ['lab'], rate: 0 });
});
afterAll(async () => {
  await gateway.close();
  await stack.stop();
});

const MESSAGES = '/v1/rooms/lab/messages';
const post = { type: 'room.post', text: 'x' };

describe('who has no token', () => {
  it.each([
    ['none', {}],
    ['another', { authorization: `Bearer synod_000000000000_${'A'.repeat(43)}` }],
    ['no bearer', { authorization: 'Basic YTpi' }],
    ['an empty one', { authorization: 'Bearer ' }],
  ])('is turned away everywhere: %s', async (_, headers: Record<string, string>) => {
    for (const [method, path] of [
      ['POST', MESSAGES],
      ['GET', MESSAGES],
      ['GET', '/v1/rooms/lab/stream'],
      ['GET', '/v1/rooms/lab'],
      ['POST', '/v1/hub/request'],
      ['POST', '/v1/hub/receive'],
      ['POST', '/v1/hub/stream'],
      ['POST', '/v1/hub/view'],
    ] as const) {
      const response = await fetch(gateway.url + path, {
        method,
        headers,
        ...(method === 'POST' ? { body: '{}' } : {}),
      });
      expect([path, response.status]).toEqual([path, 401]);
      expect(response.headers.get('www-authenticate')).toContain('Bearer');
      expect(await response.json()).toMatchObject({ error: { code: 'unauthorized' } });
    }
  });
});

describe('a token', () => {
  it.each(['DELETE', 'PUT', 'PATCH', 'OPTIONS'])('cannot %s: that there is no such thing is said', async (method) => {
    for (const path of [MESSAGES, '/v1/hub/request', '/v1/rooms/lab']) {
      const response = await fetch(gateway.url + path, { method, headers: { authorization: `Bearer ${ann}` } });
      expect([path, response.status]).toEqual([path, 404]);
      expect(await response.json()).toMatchObject({ error: { code: 'unknown' } });
    }
  });

  it('is for its rooms and its agent alone, also through the hub', async () => {
    const refused = { status: 403, error: { code: 'unauthorized' } };
    expect(await gateway.ask(ann, '/v1/rooms/other/messages', post)).toMatchObject(refused);
    for (const path of ['messages', 'messages?wait_seconds=1', 'stream', ''])
      expect(await gateway.ask(ann, `/v1/rooms/other/${path}`.replace(/\/$/, ''))).toMatchObject(refused);
    const hub = async (what: string, call: object) => await gateway.ask(ann, `/v1/hub/${what}`, call);
    const message = { ...post, id: 'm', from: 'ann', ts: '' };
    const here = { workflow_id: 'synod:lab:room' };
    expect(await hub('request', { workflow_id: 'synod:other:room', messages: [message] })).toMatchObject(refused);
    expect(await hub('request', { ...here, messages: [message, { ...message, from: 'bob' }] })).toMatchObject(refused);
    expect(await hub('request', { ...here, messages: [{ ...message, reply_to: 'w' }] })).toMatchObject(refused);
    const read = { ...here, agents: ['ann'], after: 0 };
    for (const reading of ['receive', 'stream']) {
      expect(await hub(reading, { ...read, agents: ['ann', 'bob'] })).toMatchObject(refused);
      expect(await hub(reading, { ...read, agents: ['*'] })).toMatchObject(refused);
      expect(await hub(reading, { ...read, workflow_id: 'synod:other:room' })).toMatchObject(refused);
      expect(await hub(reading, { ...read, after: -2 })).toMatchObject({ status: 400, error: { field: 'after' } });
      expect(await hub(reading, { ...read, workflow_id: 'synod:lab:locks' })).toMatchObject({ status: 404 });
    }
    expect(await hub('view', { workflow_id: 'synod:other:room' })).toMatchObject(refused);
    expect(await hub('view', { workflow_id: 'somebody-elses' })).toMatchObject({ status: 400 });
    expect(await hub('request', { ...here, messages: [] })).toMatchObject({
      status: 400,
      error: { field: 'messages' },
    });
    const sent = await fetch(`${gateway.url}/v1/hub/request`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ann}` },
      body: JSON.stringify({ ...here, messages: [message] }),
    });
    expect(await sent.json()).toMatchObject({ replies: [[{ type: 'room.accepted', to: 'ann' }]] });
    const got = await hub('receive', read);
    expect(got.events?.map(({ envelope }) => envelope.type)).toEqual(['room.post']);
  });

  it('is limited in its rate, with the seconds to wait', async () => {
    const slow = await gateway.token({ agent: 'slow', rooms: ['lab'], rate: 0.5 });
    await expect.poll(async () => (await gateway.ask(slow, MESSAGES)).status).not.toBe(401);
    // At once, so that they are too many however long each takes.
    const answers = await Promise.all(Array.from({ length: 20 }, async () => await gateway.ask(slow, MESSAGES)));
    const answer = answers.find(({ status }) => status === 429);
    expect(answer).toMatchObject({ status: 429, error: { code: 'rate_limited' } });
    const seconds = Number(answer?.headers.get('retry-after'));
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(10);
    expect((await gateway.ask(ann, MESSAGES)).status).toBe(200);
  });

  it('is in no log, whatever happens', async () => {
    await gateway.ask(ann, MESSAGES, '{');
    expect(logged.join()).not.toContain(ann.slice(19));
    expect(await (await fetch(`${gateway.url}/metrics`)).text()).not.toContain(ann.slice(6, 18));
  });
});

describe('a body', () => {
  it.each(['{', '[]', 'null', '"x"', ''])('that is %j is refused', async (body) => {
    expect(await gateway.ask(ann, MESSAGES, body)).toMatchObject({ status: 400, error: { code: 'invalid_envelope' } });
  });

  it('that says that it is too large is refused before it is read', async () => {
    const socket = connectSocket(Number(new URL(gateway.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(
      `POST ${MESSAGES} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ann}\r\ncontent-length: 1000000000\r\n\r\n{`,
    );
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer.toString().toLowerCase()).toContain('connection: close');
    socket.destroy();
  });

  it('that grows too large while it comes is not read to its end', async () => {
    const socket = connectSocket(Number(new URL(gateway.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.on('error', () => undefined);
    socket.write(
      `POST ${MESSAGES} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ann}\r\ntransfer-encoding: chunked\r\n\r\n`,
    );
    const chunk = `1000\r\n${'x'.repeat(0x1000)}\r\n`;
    let sent = 0;
    const answered = once(socket, 'data');
    let over = false;
    void answered.then(() => (over = true));
    // Never ended: it is up to the gateway.
    for (; !over && sent < 10_000; sent++) {
      if (!socket.write(chunk)) await Promise.race([once(socket, 'drain'), answered]);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const [answer] = (await answered) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 /);
    expect(sent).toBeLessThan(10_000);
    socket.destroy();
  });
});

describe('what is not there', () => {
  it('is answered with unknown, in the usual form', async () => {
    expect(await gateway.ask(ann, '/v1/desks')).toMatchObject({ status: 404, error: { code: 'unknown' } });
    expect(await gateway.ask(ann, '/v1/rooms/-x/messages')).toMatchObject({ status: 400, error: { field: 'room' } });
  });

  it('needs no token to say how it is, and what there is', async () => {
    expect(await (await fetch(`${gateway.url}/healthz`)).text()).toBe('ok\n');
    expect(await (await fetch(gateway.url)).text()).toContain('/v1/rooms/{room}/stream');
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toMatch(/synod_gateway_requests_total\{method="GET",route="\/healthz",status="200"\} 1/);
    expect(metrics).toMatch(/route="\/v1\/rooms\/:room\/messages",status="429"\} [1-9]/);
    expect(metrics).toContain('synod_gateway_logs ');
  });
});

describe('/openapi.json', () => {
  const document = z.object({
    openapi: z.literal('3.1.0'),
    paths: z.record(z.string(), z.record(z.string(), z.looseObject({ responses: z.record(z.string(), z.unknown()) }))),
    components: z.object({
      schemas: z.record(z.string(), z.looseObject({ properties: z.record(z.string(), z.unknown()).optional() })),
    }),
  });

  it('describes every route and every message, and refers to nothing that is not there', async () => {
    const raw: unknown = await (await fetch(`${gateway.url}/openapi.json`)).json();
    const { paths, components } = document.parse(raw);
    expect(Object.fromEntries(Object.entries(paths).map(([path, methods]) => [path, Object.keys(methods)]))).toEqual({
      '/v1/rooms/{room}/messages': ['post', 'get'],
      '/v1/rooms/{room}/stream': ['get'],
      '/v1/rooms/{room}': ['get'],
      '/v1/rooms/{room}/state/{namespace}/{key}': ['get', 'put', 'delete'],
      '/v1/rooms/{room}/state/{namespace}': ['get'],
      ...Object.fromEntries(Object.values(HUB_PATHS).map((path) => [path, ['post']])),
    });
    const types = Object.values(components.schemas).flatMap(({ properties }) => {
      const type = z.object({ const: z.string() }).safeParse(properties?.['type']);
      return type.success ? [type.data.const] : [];
    });
    expect(types.sort()).toEqual(Object.keys(messageSchemas).sort());
    for (const [, name] of JSON.stringify(raw).matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      expect(Object.keys(components.schemas)).toContain(name);
    expect(components.schemas['TaskAnnounce']).toMatchObject({
      required: ['type', 'task_id', 'title'],
      properties: { priority: { minimum: 1, maximum: 5 }, task_id: { type: 'string' } },
    });
  });

  it('is an OpenAPI document by the specification, its references resolved', async () => {
    const validator = new Validator();
    const fetched = z.record(z.string(), z.unknown());
    const raw = fetched.parse(await (await fetch(`${gateway.url}/openapi.json`)).json());
    expect(await validator.validate(structuredClone(raw))).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
    expect(() => validator.resolveRefs()).not.toThrow();
    // What it must find, it finds.
    const broken = { ...raw, paths: { nowhere: {} } };
    expect(await new Validator().validate(broken)).toMatchObject({ valid: false });
  });

  it('names every status that is answered', async () => {
    const { paths } = document.parse(await (await fetch(`${gateway.url}/openapi.json`)).json());
    const served = await (await fetch(`${gateway.url}/metrics`)).text();
    const counted = served.matchAll(
      /requests_total\{method="(\w+)",route="(\/v1\/(?:rooms|hub)[^"]*)",status="(\d+)"\}/g,
    );
    for (const [, method = '', route = '', status] of counted) {
      const responses = paths[route.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]?.responses ?? {};
      expect([route, ...Object.keys(responses)]).toContain(status);
    }
  });
});
