import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { StreamClient } from '../support/sse.ts';
import { startStack, type Stack } from '../support/stack.ts';

let stack: Stack;
let gateway: TestGateway;
let ann: string;
let bob: string;

beforeAll(async () => {
  stack = await startStack({ server: { maxInFlightUpdates: null } });
  gateway = await startGateway(stack.client, { heartbeatMs: 100, stallMs: 500 });
  ann = await gateway.token({ agent: 'ann', rooms: ['*'], rate: 0 });
  bob = await gateway.token({ agent: 'bob', rooms: ['*'], rate: 0 });
});
afterAll(async () => {
  await gateway.close();
  await stack.stop();
});

const post = async (room: string, text: string, more: object = {}) =>
  await gateway.ask(ann, `/v1/rooms/${room}/messages`, { type: 'room.post', text, ...more });
const streamOf = (room: string, query = '') => `${gateway.url}/v1/rooms/${room}/stream${query}`;
const textsOf = (stream: StreamClient) =>
  stream.events.flatMap(({ envelope }) => (envelope.type === 'room.post' ? [envelope['text']] : []));
const isPost = (text: string) => (sent: { data: string }) => sent.data.includes(`"text":"${text}"`);

describe('a stream', () => {
  it('delivers events to those that they are for, and resumes after the last that was received', async () => {
    await post('resume', 'before');
    const stream = await StreamClient.open(streamOf('resume'), bob);
    const { id } = await stream.waitFor(({ event }) => event === 'ready');
    await post('resume', 'one');
    const one = await stream.waitFor(isPost('one'));
    expect(textsOf(stream)).toEqual(['one']);
    // What answers ann is hers.
    expect(stream.events.every(({ envelope }) => envelope.to === undefined)).toBe(true);
    expect(Number(one.id)).toBeGreaterThan(Number(id));
    stream.close();
    await stream.ended;
    await post('resume', 'two');
    const again = await StreamClient.open(streamOf('resume', '?after=0'), bob, { 'last-event-id': one.id ?? '' });
    await post('resume', 'three');
    await again.waitFor(isPost('three'));
    expect(textsOf(again)).toEqual(['two', 'three']);
    again.close();
  });

  it('begins where it is asked to, in a room that is opened later, too', async () => {
    const early = await StreamClient.open(streamOf('later', '?after=0'), bob);
    await early.waitFor(({ event }) => event === 'ready');
    await post('later', 'first');
    await early.waitFor(isPost('first'));
    const whole = await StreamClient.open(streamOf('later', '?after=0'), bob);
    await whole.waitFor(isPost('first'));
    expect([textsOf(early), textsOf(whole)]).toEqual([['first'], ['first']]);
    early.close();
    whole.close();
  });

  it('gives each event as a sentence where that is asked for', async () => {
    const plain = await StreamClient.open(streamOf('worded', '?after=0'), bob);
    const worded = await StreamClient.open(streamOf('worded', '?after=0&words=true'), bob);
    await gateway.ask(ann, '/v1/rooms/worded/messages', {
      type: 'room.join',
      kind: 'coder',
      purpose: 'mends\u001b[31m',
    });
    const isJoin = ({ data }: { data: string }) => data.includes('"type":"room.join"');
    expect(JSON.parse((await worded.waitFor(isJoin)).data)).toMatchObject({
      words: 'ann joins as coder: mends\\u001b[31m',
    });
    expect(JSON.parse((await plain.waitFor(isJoin)).data)).not.toHaveProperty('words');
    plain.close();
    worded.close();
    const refused = await gateway.ask(bob, '/v1/rooms/worded/stream?words=maybe');
    expect(refused).toMatchObject({ status: 400, error: { field: 'words' } });
  });

  it('sends heartbeats, and ends when its token is revoked', async () => {
    await post('quiet', 'x');
    const token = await gateway.token({ agent: 'carl', rooms: ['quiet'] });
    // A new token is known within a second.
    await expect.poll(async () => (await gateway.ask(token, '/v1/rooms/quiet/messages')).status).toBe(200);
    const stream = await StreamClient.open(streamOf('quiet'), token);
    await stream.nextHeartbeat();
    await stream.nextHeartbeat();
    await gateway.revoke(token);
    const end = await stream.waitFor(({ event }) => event === 'end');
    expect(JSON.parse(end.data)).toMatchObject({ reason: 'revoked' });
    expect(await stream.ended).toBe(true);
    expect((await gateway.ask(token, '/v1/rooms/quiet/messages')).status).toBe(401);
  });

  it('reports a gap where more was logged than is kept', async () => {
    await post('gap', 'x');
    const ahead = await StreamClient.open(streamOf('gap', '?after=9999'), bob);
    const gap = await ahead.waitFor(({ event }) => event === 'gap');
    expect(JSON.parse(gap.data)).toEqual({ next: 1 });
    await post('gap', 'after the gap');
    await ahead.waitFor(isPost('after the gap'));
    ahead.close();
  });

  it('is cut where its client takes nothing, and what it missed is there when it comes back', async () => {
    await post('slow', 'first');
    const socket = connectSocket(Number(new URL(gateway.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(`GET /v1/rooms/slow/stream?after=0 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${bob}\r\n\r\n`);
    await once(socket, 'readable');
    // From here on it reads nothing. The kernel takes some megabytes before the gateway notices.
    const text = 'x'.repeat(3_900);
    const metric = async () => await (await fetch(`${gateway.url}/metrics`)).text();
    for (let i = 0; !/streams_ended_total\{reason="slow"\} 1/.test(await metric()); i++) {
      await Promise.all(Array.from({ length: 60 }, (_, j) => post('slow', `${i}.${j} ${text}`)));
    }
    socket.destroy();
    const { seq } = await post('slow', 'last');
    const back = await StreamClient.open(streamOf('slow', `?after=${(seq ?? 0) - 30}`), bob);
    await back.waitFor(isPost('last'));
    expect(back.events.length).toBeGreaterThan(10);
    back.close();
  });
});

describe('a gateway that closes', () => {
  it('ends streams and waits in order, and refuses what comes then', async () => {
    const closing = await startGateway(stack.client);
    const token = await closing.token({ agent: 'dora', rooms: ['*'] });
    await expect
      .poll(async () => (await closing.ask(token, '/v1/rooms/end/messages', { type: 'room.post', text: 'x' })).status)
      .toBe(201);
    const stream = await StreamClient.open(`${closing.url}/v1/rooms/end/stream`, token);
    const ready = await stream.waitFor(({ event }) => event === 'ready');
    const waiting = closing.ask(token, `/v1/rooms/end/messages?after=${ready.id}&wait_seconds=20`);
    await expect
      .poll(async () => await (await fetch(`${closing.url}/metrics`)).text())
      .toContain('\nsynod_gateway_waits 1\n');
    await closing.close();
    expect(await waiting).toMatchObject({ status: 200, events: [], next: Number(ready.id) });
    const end = await stream.waitFor(({ event }) => event === 'end');
    expect(JSON.parse(end.data)).toEqual({ reason: 'closing', next: Number(ready.id) });
    expect(await stream.ended).toBe(true);
    await expect(fetch(`${closing.url}/healthz`)).rejects.toThrow('fetch failed');
  });
});
