import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { Agent, connect, disconnect, type LogEvent } from '../../src/client/index.ts';
import { startDevServer } from '../../src/dev/server.ts';
import { runsOf } from '../support/history.ts';
import { startStack } from '../support/stack.ts';
import { startWorkerProcess } from '../support/workerProcess.ts';

/** In the order in which they are to be ended. */
const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

const byText = (a: string, b: string): number => (a < b ? -1 : 1);
/** Each once, and in order. */
const once = (seqs: readonly number[]): number[] => [...new Set(seqs)].toSorted((a, b) => a - b);

it('goes on after the server was down: a worker works, a listener receives everything once', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'synod-client-'));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  const dbFilename = path.join(folder, 'server.db');
  const room = 'restarted';
  let server = await startDevServer({ dbFilename, log: () => undefined });
  stops.unshift(() => server.stop());
  const worker = await startWorkerProcess(server.address);
  stops.unshift(() => worker.stop());
  const client = await connect({ address: server.address });
  stops.unshift(() => disconnect(client));
  const producer = new Agent(client, 'producer');
  await producer.join(room, { kind: 'producer', purpose: 'has work' });

  const received: LogEvent[] = [];
  const stopListening = producer.listen(room, (event) => received.push(event), { after: 0 });
  const reports: string[] = [];
  const stop = new AbortController();
  const work = new Agent(client, 'worker').work(room, async () => 'done', {
    signal: stop.signal,
    onReport: ({ kind, taskId }) => reports.push(`${kind} ${taskId}`),
  });
  stops.unshift(async () => {
    stopListening();
    stop.abort();
    await work;
  });
  const texts: string[] = [];
  const post = async () => {
    const batch = Array.from({ length: 20 }, (_, i) => `post ${texts.length + i}`);
    texts.push(...batch);
    await Promise.all(batch.map(async (text) => await producer.post(room, text)));
  };
  await post();
  await producer.announce(room, { taskId: 'before', title: 'before' });
  await expect.poll(() => reports).toEqual(['started before', 'completed before']);

  await server.kill();
  const meanwhile = post();
  server = await startDevServer({ dbFilename, port: Number(server.address.split(':')[1]), log: () => undefined });
  await meanwhile;
  await producer.announce(room, { taskId: 'after', title: 'after' });
  await expect.poll(() => reports.slice(2)).toEqual(['started after', 'completed after']);

  const posted = () =>
    received.flatMap(({ envelope: { type, text } }) => (type === 'room.post' ? [JSON.stringify(text)] : []));
  await expect.poll(() => posted().length).toBe(texts.length);
  expect(posted().toSorted(byText)).toEqual(texts.map((text) => JSON.stringify(text)).toSorted(byText));
  const seqs = received.map(({ seq }) => seq);
  expect(seqs).toEqual(once(seqs));
});

it('receives every entry once over the runs of a room', async () => {
  const room = 'runs';
  // Suggested early, so that a short test has several runs.
  const extraArgs = ['--dynamic-config-value', 'limit.historyCount.suggestContinueAsNew=200'];
  const stack = await startStack({ server: { extraArgs } });
  stops.unshift(() => stack.stop());
  const agents = Array.from({ length: 8 }, (_, i) => new Agent(stack.client, `agent-${i}`));
  const client = await connect({ address: stack.server.address });
  stops.unshift(() => disconnect(client));
  const listener = new Agent(client, 'listener');
  await listener.join(room, { kind: 'listener', purpose: 'listens' });
  const received: number[] = [];
  let gaps = 0;
  let posts = 0;
  const onEvent = ({ seq, envelope: { type } }: LogEvent) => {
    received.push(seq);
    if (type === 'room.post') posts += 1;
  };
  const stop = listener.listen(room, onEvent, { after: 0, onGap: () => (gaps += 1) });
  let sent = 0;
  const round = async () => {
    await Promise.all(agents.map(async (agent) => await agent.post(room, 'on and on')));
    sent += agents.length;
  };
  const runsSoFar = async () => (await runsOf(stack.client, `synod:${room}:room`)).length;
  // However slow the listener is, the room keeps what it has not received yet.
  while ((await runsSoFar()) < 3) {
    for (let i = 0; i < 20; i++) await round();
    await expect.poll(() => posts).toBe(sent);
  }
  stop();
  expect(gaps).toBe(0);
  expect(received).toEqual(once(received));
});
