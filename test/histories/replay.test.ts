import { Worker } from '@temporalio/worker';
import { readdir, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { REVISION } from '../../src/host/revision.ts';
import { workflowBundle } from '../support/bundle.ts';
import { faultsOf, fromJson, runsOf } from '../support/history.ts';
import { scenarios } from '../support/scenarios.ts';
import { quietRuntime, startStack, type Stack } from '../support/stack.ts';
import { retried, say, Wire } from '../support/wire.ts';

const Recorded = z.object({ workflowId: z.string(), history: z.object({ events: z.array(z.looseObject({ eventId: z.string() })).min(5) }) });

const files = (await readdir(new URL('.', import.meta.url))).filter((file) => file.endsWith('.json'));

async function recorded(file: string): Promise<{ text: string; content: z.infer<typeof Recorded> }> {
  const text = await readFile(new URL(file, import.meta.url), 'utf8');
  return { text, content: Recorded.parse(JSON.parse(text)) };
}

beforeAll(quietRuntime);

describe('recorded histories', () => {
  it('are there for every workflow type, the continued run too', () => {
    for (const name of Object.keys(scenarios)) expect(files).toContain(`${name}-r${REVISION}-1.json`);
    const continued = ['taskLease', 'coordinatorElection', 'quorumProposal', 'barrier', 'lockManager', 'room', 'stateStore'];
    expect(files).toEqual(expect.arrayContaining(continued.map((name) => `${name}-r${REVISION}-2.json`)));
  });

  it('are there for the rules before, which runs under way still follow', () => {
    const since = Object.keys(scenarios).filter((name) => name !== 'stateStore');
    expect(files).toEqual(expect.arrayContaining(since.map((name) => `${name}-1.json`)));
  });

  it.each(files)('%s replays', async (file) => {
    const { workflowId, history } = (await recorded(file)).content;
    const replay = Worker.runReplayHistory({ workflowBundle: await workflowBundle() }, fromJson(history), workflowId);
    await expect(replay).resolves.toBeUndefined();
  });

  it.each(files)('%s names no machine', async (file) => {
    const { text } = await recorded(file);
    expect([...text.matchAll(/"identity":"([^"]*)"/g)].map(([, who]) => who).filter((who) => who !== 'recorder')).toEqual([]);
    expect(text).not.toMatch(/\d+@|\/home\/|\/root\/|\/work\//);
  });

  it('would not replay as another workflow', async () => {
    const { history } = (await recorded('room-1.json')).content;
    await expect(
      Worker.runReplayHistory({ workflowBundle: await workflowBundle() }, fromJson(history), 'synod:elsewhere:room'),
    ).rejects.toThrow('Replay failed');
  });
});

// Without a cache every workflow task replays the whole history.
describe.each([
  ['with', 1_000],
  ['without', 0],
])('a fresh run %s a sticky cache', (_name, maxCachedWorkflows) => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ worker: { maxCachedWorkflows } });
  });
  afterAll(() => stack.stop());

  // Side by side: each mostly waits for its own deadlines.
  it.concurrent.each(Object.entries(scenarios))('replays: %s', async (_name, run) => {
    const wire = await run(stack.client, 'fresh');
    const runs = await runsOf(stack.client, wire.workflowId);
    expect(faultsOf(runs)).toEqual([]);
    for (const { events } of runs) {
      await Worker.runReplayHistory({ workflowBundle: await workflowBundle() }, { events: [...events] }, wire.workflowId);
    }
  });
});

describe('a worker without a cache', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ worker: { maxCachedWorkflows: 0 } });
  });
  afterAll(() => stack.stop());

  // temporalio/sdk-rust#1146: at a replay, one that leaves no event is taken together with the next, after its update and at its time.
  it('has no workflow task that leaves no event, when nothing is left to do', async () => {
    const task = Wire.task(stack.client, 'quiet', 'quiet');
    await retried(() => task.ask(say('task.announce', 'ann', { task_id: 'quiet', title: 'quiet' })));
    const events = async () => (await runsOf(stack.client, task.workflowId)).flatMap((run) => run.events);
    // The room has been told: with that the task has nothing to do.
    await expect
      .poll(async () => (await events()).findLastIndex((event) => event.activityTaskCompletedEventAttributes))
      .toBeGreaterThan(0);
    await retried(() => task.ask(say('task.claim', 'bob', { task_id: 'quiet' })));
    await retried(() => task.ask(say('task.complete', 'bob', { task_id: 'quiet', attempt: 1 })));
    const all = await events();
    const empty = all.filter(
      (event, i) => event.workflowTaskCompletedEventAttributes && all[i + 1]?.workflowTaskScheduledEventAttributes,
    );
    expect(empty).toEqual([]);
    expect(faultsOf(await runsOf(stack.client, task.workflowId))).toEqual([]);
  });
});
