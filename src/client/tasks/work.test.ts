import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { Agent } from '../agent.ts';
import { standInHub, type StandIn } from '../hub.fixture.ts';
import { HUB_PATHS } from '../transport/hubTransport.ts';
import type { WorkOptions, WorkReport } from './handler.ts';

const message = z.looseObject({ type: z.string(), id: z.string(), from: z.string() });
const request = z.object({ messages: z.array(message) });
type Message = z.infer<typeof message>;
type Reply = { readonly type: string; readonly [field: string]: unknown };

/** A stand-in for a hub whose room has one open task; what each message is answered is up to a test. */
let hub: StandIn;
let answer: (message: Message) => Reply | Promise<Reply>;
let asked: Message[];
let onAsked: () => void;
let logged: object[];
let stops: (() => Promise<void>)[];

const ACK = { type: 'task.ack', attempt: 1, lease_seconds: 300 };
const refusal = (code: string, reason: string) => ({ type: 'error', code, reason });

beforeEach(async () => {
  [asked, logged, stops, onAsked] = [[], [], [], () => undefined];
  hub = await standInHub((path, call, response) => {
    const end = (body: object) => void response.end(JSON.stringify(body));
    if (path === HUB_PATHS.receive) return end({ events: [], next: 0, truncated: false, now: '' });
    if (path === HUB_PATHS.stream) {
      response.flushHeaders();
      for (const [i, envelope] of logged.entries())
        response.write(`id: ${i + 1}\ndata: ${JSON.stringify({ seq: i + 1, envelope })}\n\n`);
      return;
    }
    if (path === HUB_PATHS.view) {
      const rows = logged.length > 0 ? [] : [{ kind: 'task', id: 't', title: 'to do', status: 'open', since: '' }];
      return end({ view: { paused: false, config: {}, title: 'to do', rows } });
    }
    const { messages } = request.parse(call);
    asked.push(...messages);
    onAsked();
    const replies = messages.map(async (each) => [
      { id: `r-${each.id}`, from: 'synod', to: each.from, ts: '', in_reply_to: each.id, ...(await answer(each)) },
    ]);
    const failed = () => {
      response.statusCode = 400;
      end({ error: { code: 'odd', message: 'not understood' } });
    };
    Promise.all(replies).then((all) => end({ replies: all }), failed);
  });
});
afterEach(async () => {
  for (const stop of stops) await stop();
  await hub.stop();
});

/** Until a condition holds, tested whenever the hub is asked something. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise<void>((resolve) => (onAsked = resolve));
}

/** A worker of the one task, and its first report of one of some kinds. */
function working(handler: (signal: AbortSignal) => Promise<unknown>, options: WorkOptions = {}) {
  const stop = new AbortController();
  const reports: WorkReport[] = [];
  let seen: () => void = () => undefined;
  const ended = new Agent(hub.client, 'ann').work(
    'lab',
    async ({ signal }) => {
      await handler(signal);
      return 'done';
    },
    {
      signal: stop.signal,
      claimJitterSeconds: 0,
      onReport: (report) => {
        reports.push(report);
        seen();
      },
      ...options,
    },
  );
  const end = async () => {
    stop.abort();
    await ended;
  };
  stops.push(end);
  const reported = async (...kinds: string[]): Promise<WorkReport> => {
    for (;;) {
      const found = reports.find(({ kind }) => kinds.includes(kind));
      if (found) return found;
      await new Promise<void>((resolve) => (seen = resolve));
    }
  };
  return { reports, reported, end };
}

it('begins nothing by an ack that is answered after its lease', async () => {
  answer = async ({ type }) => {
    if (type !== 'task.claim') return refusal('stale_token', 'attempt 1 is over');
    await new Promise((resolve) => setTimeout(resolve, 60));
    return { ...ACK, lease_seconds: 0.05 };
  };
  let begun = 0;
  const { reports, reported } = working(async () => (begun += 1));
  expect(await reported('lost', 'completed')).toEqual({
    kind: 'lost',
    taskId: 't',
    token: 1,
    reason: 'stale_token: attempt 1 is over',
  });
  expect([begun, reports.length]).toEqual([0, 1]);
  expect(asked.map(({ type }) => type)).toEqual(['task.claim', 'task.renew']);
});

it('claims and renews with the shorter of its own lease and the announced one', async () => {
  answer = ({ type, lease_seconds: seconds }) => {
    if (type !== 'task.claim') return { type: 'task.completed' };
    const isLong = typeof seconds === 'number' && seconds > 30;
    return isLong
      ? refusal('invalid_envelope', 'lease_seconds must be at most the announced 30')
      : { ...ACK, lease_seconds: 30 };
  };
  // The board does not say how long the announced lease is.
  const { reported, end } = working(async () => undefined, { leaseSeconds: 60 });
  expect(await reported('completed', 'refused')).toMatchObject({ kind: 'completed' });
  await end();
  expect(asked.map(({ type, lease_seconds: seconds }) => [type, seconds])).toEqual([
    ['task.claim', 60],
    ['task.claim', undefined],
    ['task.complete', undefined],
  ]);
});

it('knows the announced lease from the announcement', async () => {
  logged = [{ type: 'task.announce', id: 'a', from: 'p', ts: '', task_id: 't', title: 'to do', lease_seconds: 30 }];
  answer = ({ type }) => (type === 'task.claim' ? { ...ACK, lease_seconds: 30 } : { type: 'task.completed' });
  const { reported } = working(async () => undefined, { leaseSeconds: 60 });
  await reported('completed');
  expect(asked[0]).toMatchObject({ type: 'task.claim', lease_seconds: 30 });
});

it('reports what a claim is refused with', async () => {
  answer = () => refusal('over_limit', 'the budget is spent');
  const { reported } = working(async () => undefined);
  expect(await reported('refused')).toEqual({
    kind: 'refused',
    taskId: 't',
    token: undefined,
    code: 'over_limit',
    reason: 'the budget is spent',
  });
});

it('reports what its result is refused with, and fails the task, which would be refused again', async () => {
  answer = ({ type }) =>
    type === 'task.claim'
      ? ACK
      : type === 'task.complete'
        ? refusal('over_limit', 'too much')
        : { type: 'task.failed' };
  const { reports, reported } = working(async () => undefined);
  expect(await reported('refused')).toEqual({
    kind: 'refused',
    taskId: 't',
    token: 1,
    code: 'over_limit',
    reason: 'too much',
  });
  await until(() => asked.some(({ type }) => type === 'task.fail'));
  expect(asked.at(-1)).toMatchObject({ type: 'task.fail', attempt: 1, retry: false, reason: 'over_limit: too much' });
  expect(reports.map(({ kind }) => kind)).toEqual(['started', 'refused']);
});

it.each(['not_holder', 'stale_token', 'closed'])('is lost where its result is answered %s', async (code) => {
  answer = ({ type }) => (type === 'task.claim' ? ACK : refusal(code, 'too late'));
  const { reported } = working(async () => undefined);
  expect(await reported('lost', 'completed', 'refused')).toMatchObject({ kind: 'lost', reason: `${code}: too late` });
});

it('hands back what has run out by its own clock alone', async () => {
  let release: () => void = () => undefined;
  const away = new Promise<void>((resolve) => (release = resolve));
  answer = async ({ type }) => {
    if (type === 'task.renew') await away;
    return type === 'task.claim' ? { ...ACK, lease_seconds: 0.4 } : { ...ACK, type: `${type}d` };
  };
  const { reported } = working(
    async (signal) => await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true })),
  );
  expect(await reported('lost')).toMatchObject({ reason: expect.stringContaining('has run out') as string });
  release();
  await until(() => asked.some(({ type }) => type === 'task.release'));
  expect(asked.at(-1)).toMatchObject({ type: 'task.release', attempt: 1 });
});

it('gives back what it may have claimed where the claim has failed', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  let claims = 0;
  answer = async ({ type }) => {
    if (type !== 'task.claim') return { type: 'task.announce' };
    claims += 1;
    if (claims === 1) throw new Error('odd');
    return ACK;
  };
  const { reports } = working(async () => undefined);
  await until(() => asked.some(({ type }) => type === 'task.release'));
  expect(asked.map(({ type, id }) => [type, id])).toEqual([
    ['task.claim', asked[0]?.id],
    ['task.claim', asked[0]?.id],
    ['task.release', asked[2]?.id],
  ]);
  expect(asked[2]).toMatchObject({ attempt: 1 });
  expect(reports).toEqual([]);
  expect(warned).toHaveBeenCalledOnce();
  warned.mockRestore();
});
