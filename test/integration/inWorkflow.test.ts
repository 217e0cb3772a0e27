import type { WorkflowHandle } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { usersBundle } from '../support/bundle.ts';
import { signalsOf } from '../support/history.ts';
import { startTimeSkipping } from '../support/timeSkipping.ts';
import { failing, say, Wire } from '../support/wire.ts';
import type { asking, signalless, gathering, hurried, producer } from '../users/workflows.ts';

let env: TestWorkflowEnvironment;
let stop: () => Promise<void>;

beforeAll(async () => {
  ({ env, stop } = await startTimeSkipping(usersBundle));
});
afterAll(() => stop());

/** Until the workflow has opened it: whoever speaks before would start it, and spoil the opening. */
async function until(wire: Wire, status: string): Promise<void> {
  await expect
    .poll(() =>
      wire.view().then(
        (view) => view['status'],
        () => 'none',
      ),
    )
    .toBe(status);
}

/** The types of what a workflow was told by signal. */
async function toldTo(handle: WorkflowHandle): Promise<string[]> {
  const { events } = await handle.fetchHistory();
  const signals = signalsOf([{ runId: '', events: events ?? [] }], 'synod.reply');
  return signals.map((told) => z.looseObject({ type: z.string() }).parse(told).type);
}

/** Does a task when it is open. */
async function doTask(wire: Wire, taskId: string, result: unknown): Promise<void> {
  await until(wire, 'open');
  const [ack] = await wire.ask(say('task.claim', 'w', { task_id: taskId }));
  expect(ack).toMatchObject({ type: 'task.ack', attempt: 1 });
  await wire.ask(say('task.complete', 'w', { task_id: taskId, attempt: 1, result }));
}

describe('a task announced by a workflow', () => {
  it('has failed for it when its time is up', async () => {
    const handle = await env.client.workflow.start<typeof producer>('producer', {
      workflowId: 'patient',
      taskQueue: 'synod',
      args: [
        'in',
        { taskId: 'in vain', title: 't', expiresAt: new Date((await env.currentTimeMs()) + 300_000).toISOString() },
      ],
    });
    // Time passes while the result is awaited.
    expect(await handle.result()).toEqual({ type: 'task.failed', taskId: 'in vain', attempt: 1, reason: 'expired' });
  });

  it('tells its end by the net below the signals, where those are lost', async () => {
    const handle = await env.client.workflow.start<typeof signalless>('signalless', {
      workflowId: 'signalless',
      taskQueue: 'synod',
      args: ['in', { taskId: 'unsignalled', title: 't' }],
    });
    await doTask(Wire.task(env.client, 'in', 'unsignalled'), 'unsignalled', [1]);
    expect(await handle.result()).toMatchObject({ type: 'task.completed', holder: 'w', result: [1] });
  });

  it('tells it to a later run, also when it has long ended', async () => {
    const handle = await env.client.workflow.start<typeof hurried>('hurried', {
      workflowId: 'hurried',
      taskQueue: 'synod',
      args: ['in', { taskId: 'ended', title: 't', lingerSeconds: 1 }],
    });
    await doTask(Wire.task(env.client, 'in', 'ended'), 'ended', 'kept');
    expect(await handle.result()).toMatchObject({ type: 'task.completed', result: 'kept' });
  });

  it('is refused where another has announced it differently, and the workflow can fail with it', async () => {
    const wire = Wire.task(env.client, 'in', 'taken');
    await wire.ask(say('task.announce', 'somebody', { task_id: 'taken', title: 'theirs' }));
    const started = env.client.workflow.execute<typeof producer>('producer', {
      workflowId: 'late',
      taskQueue: 'synod',
      args: ['in', { taskId: 'taken', title: 'ours' }],
    });
    const failure = await failing(started);
    expect(failure.type).toBe('idempotency_conflict');
    expect(failure.message).toContain('somebody');
  });

  it.each([
    ['a bad field', 'in', { taskId: 'bad', title: 't', priority: 7 }, /priority/],
    ['a bad room', 'no room', { taskId: 'bad', title: 't' }, /room/],
  ])('with %s fails before it is sent, and names it', async (_name, room, task, named) => {
    const started = env.client.workflow.execute<typeof producer>('producer', {
      workflowId: `bad ${room}`,
      taskQueue: 'synod',
      args: [room, task],
    });
    const failure = await failing(started);
    expect(failure.type).toBe('invalid_envelope');
    expect(failure.message).toMatch(named);
  });
});

describe('a decision that a workflow asks for', () => {
  const proposal = { question: 'Go?', voters: ['ann', 'bob', 'cy'], quorum: 2, deadlineSeconds: 600 };
  const start = async (proposalId: string) =>
    await env.client.workflow.start<typeof asking>('asking', {
      workflowId: `asks ${proposalId}`,
      taskQueue: 'synod',
      args: ['in', { ...proposal, proposalId }],
    });
  const proposed = (id: string) => new Wire(env.client, 'quorumProposal', `synod:in:proposal:${id}`, 'in');
  const vote = async (id: string, voter: string, choice: string) => {
    const [reply] = await proposed(id).ask(say('decision.vote', voter, { proposal_id: id, choice }));
    expect(reply).toMatchObject({ type: 'decision.voted' });
  };

  it('is committed for it by the quorum', async () => {
    const handle = await start('p-1');
    await until(proposed('p-1'), 'open');
    await vote('p-1', 'ann', 'yes');
    await vote('p-1', 'bob', 'yes');
    expect(await handle.result()).toEqual({
      type: 'decision.commit',
      proposalId: 'p-1',
      choice: 'yes',
      tally: { yes: 2, no: 0 },
      votes: { ann: 'yes', bob: 'yes' },
    });
    expect(await toldTo(handle)).toContain('decision.commit');
  });

  it('has failed for it at the deadline', async () => {
    expect(await (await start('p-2')).result()).toMatchObject({ type: 'decision.failed', reason: 'deadline' });
  });
});

describe('a barrier that a workflow opens', () => {
  const phaseOf = (phase: string) => new Wire(env.client, 'barrier', `synod:in:barrier:${phase}`, 'in');
  const start = async (phase: string, args: Parameters<typeof gathering>[2]) =>
    await env.client.workflow.start<typeof gathering>('gathering', {
      workflowId: `gathers ${phase}`,
      taskQueue: 'synod',
      args: ['in', phase, args],
    });

  it('is released for it when all are in', async () => {
    const handle = await start('all', { roster: ['ann', 'bob'], timeoutSeconds: 600, fallback: 'fail' });
    await until(phaseOf('all'), 'open');
    for (const member of ['ann', 'bob']) await phaseOf('all').ask(say('barrier.checkin', member, { phase: 'all' }));
    expect(await handle.result()).toMatchObject({
      type: 'barrier.released',
      phase: 'all',
      arrived: ['ann', 'bob'],
      droppedCount: 0,
    });
    expect(await toldTo(handle)).toContain('barrier.released');
  });

  it('goes on without who is missing, or fails, at the time-out', async () => {
    const proceed = await start('some', {
      roster: ['ann', 'bob'],
      timeoutSeconds: 600,
      fallback: 'proceed',
      quorum: 1,
    });
    await until(phaseOf('some'), 'open');
    await phaseOf('some').ask(say('barrier.checkin', 'ann', { phase: 'some' }));
    expect(await proceed.result()).toMatchObject({ type: 'barrier.released', arrived: ['ann'], dropped: ['bob'] });
    const fail = await start('none', { roster: ['ann', 'bob'], timeoutSeconds: 600, fallback: 'fail' });
    expect(await fail.result()).toMatchObject({ type: 'barrier.failed', missing: ['ann', 'bob'], missingCount: 2 });
  });

  it('with more members than fit into an envelope is opened in parts', async () => {
    const roster = Array.from({ length: 1_000 }, (_, i) => `member-of-a-long-roster-${i}`);
    const handle = await start('many', { roster, timeoutSeconds: 60, fallback: 'fail' });
    expect(await handle.result()).toMatchObject({ type: 'barrier.failed', missingCount: 1_000 });
  });
});
