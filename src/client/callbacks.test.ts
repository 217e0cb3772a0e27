import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { receiveArgs, type LogEvent } from '../envelope/calls.ts';
import { Agent } from './agent.ts';
import { standInHub, type StandIn } from './hub.fixture.ts';
import type { Question } from './decisions/vote.ts';
import { HUB_PATHS } from './transport/hubTransport.ts';

const request = z.object({ messages: z.array(z.object({ type: z.string(), id: z.string(), from: z.string() })) });

/** A stand-in for a hub: a log of three posts, or of what a test gives; it grants and accepts everything. */
let hub: StandIn;
let log: LogEvent[];
let views: { [workflow: string]: object };
let asked: string[];
/** So many requests are cut off before the first that is answered. */
let cuts: number;
const warnings: string[] = [];
const onWarning = ({ message }: Error) => void warnings.push(message);

const event = (seq: number, type: string, fields: object = {}): LogEvent => ({
  seq,
  envelope: { type, id: `e-${seq}`, from: 'synod', ts: '', seq, ...fields },
});

beforeEach(async () => {
  log = [1, 2, 3].map((seq) => event(seq, 'room.post', { text: `post ${seq}` }));
  views = {};
  [asked, cuts] = [[], 0];
  warnings.length = 0;
  process.on('warning', onWarning);
  hub = await standInHub((path, call, response) => answer(path, call, response));
});
afterEach(async () => {
  process.off('warning', onWarning);
  await hub.stop();
});

function answer(path: string, call: unknown, response: ServerResponse): void {
  const end = (body: object) => void response.end(JSON.stringify(body));
  if (path === HUB_PATHS.view) {
    const { workflow_id: id } = z.object({ workflow_id: z.string() }).parse(call);
    return end({ view: views[id] ?? null });
  }
  if (path === HUB_PATHS.request) return replied(request.parse(call).messages, response);
  const { after } = receiveArgs.parse(call);
  if (path === HUB_PATHS.receive)
    return end({ events: [], next: after < 0 ? 0 : log.length, truncated: false, now: '' });
  for (const each of log.filter(({ seq }) => seq > after))
    response.write(`id: ${each.seq}\ndata: ${JSON.stringify(each)}\n\n`);
  response.flushHeaders();
}

function replied(messages: z.infer<typeof request>['messages'], response: ServerResponse): void {
  if ((cuts -= 1) >= 0) return void response.destroy();
  asked.push(...messages.map(({ type }) => type));
  const replies = messages.map(({ type, id, from }) => {
    const granted = type === 'task.claim' ? { type: 'task.ack', attempt: 1, lease_seconds: 300 } : {};
    return [{ type: 'x.accepted', id: `r-${id}`, from: 'synod', to: from, ts: '', in_reply_to: id, ...granted }];
  });
  response.end(JSON.stringify({ replies }));
}

const agent = (options = {}) => new Agent(hub.client, 'ann', options);
/** What fails in each way that a callback can. */
const failures: readonly (readonly [string, () => unknown])[] = [
  ['throws', () => fail()],
  ['rejects', async () => await Promise.reject(new Error('broken'))],
];
function fail(): never {
  throw new Error('broken');
}
/** Warned of so often, and of nothing else. */
const warned = async (name: string, times = 1) =>
  await expect
    .poll(() => warnings)
    .toEqual(Array.from({ length: times }, () => `synod: ${name} failed: Error: broken`));

it.each(failures)(
  'an onEvent that %s keeps neither itself nor another listener from what comes next',
  async (_, failing) => {
    const seen: string[] = [];
    const listen = (name: string, onEvent: () => unknown) =>
      agent().listen(
        'lab',
        ({ seq }) => {
          seen.push(`${name} ${seq}`);
          if (seq === 2) return onEvent();
        },
        { after: 0 },
      );
    const stops = [listen('bad', failing), listen('good', () => undefined)];
    await expect.poll(() => seen.length).toBe(6);
    expect(seen.toSorted()).toEqual(['bad 1', 'bad 2', 'bad 3', 'good 1', 'good 2', 'good 3']);
    await warned('onEvent');
    for (const stop of stops) stop();
  },
);

it('gives nothing more to who has ended its listening from within its callback', async () => {
  const seen: number[] = [];
  const stop = agent().listen(
    'lab',
    ({ seq }) => {
      seen.push(seq);
      stop();
    },
    { after: 0 },
  );
  const others: number[] = [];
  const end = agent().listen('lab', ({ seq }) => others.push(seq), { after: 0 });
  await expect.poll(() => others).toEqual([1, 2, 3]);
  expect(seen).toEqual([1]);
  end();
});

it.each(failures)('an onGap that %s does not keep its listener from reading', async (_, onGap) => {
  const seen: number[] = [];
  const stop = agent().listen('lab', ({ seq }) => seen.push(seq), { onGap });
  await expect.poll(() => seen).toEqual([1, 2, 3]);
  await warned('onGap');
  stop();
});

it.each(failures)('an onRetry that %s does not fail the call that is repeated', async (_, onRetry) => {
  cuts = 1;
  await agent({ onRetry }).post('lab', 'hello');
  expect(asked).toEqual(['room.post']);
  await warned('onRetry');
});

it.each(failures)('an onReport that %s leaves no task half done', async (_, onReport) => {
  log = [event(1, 'task.announce', { task_id: 't', title: 'to do' })];
  views['synod:lab:room'] = { paused: false, rows: [{ kind: 'task', id: 't', status: 'open', since: '' }] };
  views['synod:lab:task:t'] = { title: 'to do' };
  const stop = new AbortController();
  const kinds: string[] = [];
  const options = {
    signal: stop.signal,
    claimJitterSeconds: 0,
    onReport: ({ kind }: { kind: string }) => {
      kinds.push(kind);
      if (kind === 'completed') stop.abort();
      return onReport();
    },
  };
  await agent().work('lab', async () => 'done', options);
  expect(kinds).toEqual(['started', 'completed']);
  expect(asked).toEqual(['task.claim', 'task.complete']);
  await warned('onReport', 2);
});

it.each(failures)('a handler of directives that %s is given the next one', async (_, handler) => {
  const directive = (seq: number) => event(seq, 'coordinator.directive', { epoch: 1, directive: `go ${seq}` });
  log = [directive(1), directive(2)];
  const seen: unknown[] = [];
  const stop = agent()
    .room('lab')
    .onDirective(
      'main',
      ({ directive: what }) => {
        seen.push(what);
        return handler();
      },
      { after: 0 },
    );
  await expect.poll(() => seen).toEqual(['go 1', 'go 2']);
  await warned('the handler of onDirective', 2);
  stop();
});

it.each(failures)('an onError that %s keeps no voter from the next question', async (_, onError) => {
  log = [];
  const rows = ['p', 'q'].map((id) => ({ kind: 'proposal', id, status: 'open', since: '' }));
  views['synod:lab:room'] = { rows };
  for (const id of ['p', 'q']) {
    const terms = { question: 'go?', options: ['yes', 'no'], voters: ['ann'], quorum: 1, proposer: 'bob', votes: {} };
    views[`synod:lab:proposal:${id}`] = { status: 'open', proposal_id: id, ...terms };
  }
  const questions: string[] = [];
  const vote = async ({ proposalId: id }: Question) => {
    questions.push(id);
    return id === 'p' ? fail() : { choice: 'yes' };
  };
  const stop = agent().room('lab').onProposal(vote, { onError });
  await expect.poll(() => asked).toEqual(['decision.vote']);
  expect(questions.toSorted()).toEqual(['p', 'q']);
  await warned('onError');
  stop();
});
