import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { Agent } from './agent.ts';
import { standInHub, type StandIn } from './hub.fixture.ts';
import { HUB_PATHS } from './transport/hubTransport.ts';
import type { WorkReport } from './tasks/handler.ts';

const request = z.object({ messages: z.array(z.object({ type: z.string(), id: z.string(), from: z.string() })) });

/** A stand-in for a hub that has one open task, and answers nothing any more once a message of a type has come. */
let standIn: StandIn;
let answered: (type: string) => boolean;
let asked: string[];
let onAsked: (type: string) => void;

beforeEach(async () => {
  asked = [];
  onAsked = () => undefined;
  standIn = await standInHub((path, call, response) => {
    const end = (answer: object) => void response.end(JSON.stringify(answer));
    if (path === HUB_PATHS.receive) return end({ events: [], next: 0, truncated: false, now: '' });
    if (path === HUB_PATHS.stream) return response.flushHeaders();
    if (path === HUB_PATHS.view) {
      onAsked('view');
      if (!answered('view')) return response.destroy();
      const row = { kind: 'task', id: 't', title: 'to do', status: 'open', since: '' };
      return end({ view: { paused: false, config: {}, title: 'to do', rows: [row] } });
    }
    const { messages } = request.parse(call);
    for (const { type } of messages) {
      asked.push(type);
      onAsked(type);
    }
    // Cut off as a server is that went away.
    if (!messages.every(({ type }) => answered(type))) return response.destroy();
    end({
      replies: messages.map(({ id, from }) => [
        { type: 'task.ack', id: `r-${id}`, from: 'synod', to: from, ts: '', attempt: 1, lease_seconds: 300 },
      ]),
    });
  });
});
afterEach(async () => await standIn.stop());

const come = async (type: string) =>
  await new Promise<void>((resolve) => (onAsked = (each) => (each === type ? resolve() : undefined)));

/** A worker of the one task. */
function working(handler: (signal: AbortSignal) => Promise<string>) {
  const stop = new AbortController();
  const reports: WorkReport[] = [];
  const ended = new Agent(standIn.client, 'ann').work('lab', async ({ signal }) => await handler(signal), {
    signal: stop.signal,
    claimJitterSeconds: 0,
    onReport: (report) => void reports.push(report),
  });
  return { stop, ended, kinds: () => reports.map(({ kind }) => kind) };
}

it('stops though its claim is not answered', async () => {
  answered = (type) => type === 'view';
  const claimed = come('task.claim');
  const { stop, ended, kinds } = working(async () => 'done');
  await claimed;
  stop.abort();
  await ended;
  expect(kinds()).toEqual([]);
});

it('hands back, without beginning it, what it is granted after it was stopped', async () => {
  answered = () => true;
  const { stop, ended, kinds } = working(async () => 'done');
  onAsked = (type) => (type === 'task.claim' ? stop.abort() : undefined);
  await ended;
  expect(kinds()).toEqual(['released']);
  expect(asked).toEqual(['task.claim', 'task.release']);
});

it('stops though what it hands back is not answered', async () => {
  answered = (type) => type === 'task.claim' || type === 'view';
  const { stop, ended, kinds } = working(async (signal) => {
    setImmediate(() => stop.abort());
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    throw signal.reason;
  });
  await ended;
  expect(kinds()).toEqual(['started', 'lost']);
  expect(asked).toContain('task.release');
});

it('breaks off what waits for a server that is away, with the reason of its signal', async () => {
  answered = (type) => type === 'view';
  const room = new Agent(standIn.client, 'ann').room('lab');
  const away = async (type: string, wait: (signal: AbortSignal) => Promise<unknown>) => {
    const stop = new AbortController();
    const sent = come(type);
    const end = wait(stop.signal).catch(String);
    await sent;
    stop.abort(new Error('enough'));
    expect([type, await end]).toEqual([type, 'Error: enough']);
  };
  const proposal = { question: 'go?', voters: ['ann'], quorum: 1, deadlineSeconds: 60 };
  await away('decision.propose', async (signal) => await room.decide(proposal, signal));
  await away('barrier.checkin', async (signal) => await room.barrier('one', {}, signal));
  const roster = { roster: ['ann'], timeoutSeconds: 60, fallback: 'fail' } as const;
  await away('barrier.open', async (signal) => await room.barrier('two', roster, signal));
  const lock = (name: string) => async (signal: AbortSignal) =>
    await new Agent(standIn.client, 'ann').room(name).lock(['a'], { type: 'write', signal }, async () => 'held');
  await away('lock.request', lock('lab'));
  answered = () => false;
  await away('view', lock('other'));
});
