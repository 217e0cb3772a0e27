import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTimeSkippingEnv } from '../../src/dev/timeSkipping.ts';
import { createWorker } from '../../src/worker.ts';
import { usersBundle } from '../support/bundle.ts';
import { quietRuntime } from '../support/stack.ts';
import { failing, say, Wire } from '../support/wire.ts';
import type { deaf, hurried, producer } from '../users/workflows.ts';

let env: TestWorkflowEnvironment;
let stop: () => Promise<void>;

beforeAll(async () => {
  quietRuntime();
  const [created, bundle] = await Promise.all([createTimeSkippingEnv({ find: { log: () => {} } }), usersBundle()]);
  env = created;
  const worker = await createWorker({ connection: env.nativeConnection, workflowBundle: bundle });
  const done = worker.run();
  stop = async () => {
    worker.shutdown();
    await done;
    await env.teardown();
  };
});
afterAll(() => stop());

/** Waits until a task is open, then does it. */
async function doTask(wire: Wire, taskId: string, result: unknown): Promise<void> {
  await expect
    .poll(() =>
      wire.view().then(
        (view) => view['status'],
        () => 'none',
      ),
    )
    .toBe('open');
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
        { task_id: 'in vain', title: 't', expires_at: new Date((await env.currentTimeMs()) + 300_000).toISOString() },
      ],
    });
    // Time passes while the result is awaited.
    expect(await handle.result()).toEqual({ type: 'task.failed', task_id: 'in vain', attempt: 1, reason: 'expired' });
  });

  it('tells its end by the net below the signals, where those are lost', async () => {
    const handle = await env.client.workflow.start<typeof deaf>('deaf', {
      workflowId: 'deaf',
      taskQueue: 'synod',
      args: ['in', { task_id: 'unheard', title: 't' }],
    });
    await doTask(Wire.task(env.client, 'in', 'unheard'), 'unheard', [1]);
    expect(await handle.result()).toMatchObject({ type: 'task.completed', holder: 'w', result: [1] });
  });

  it('tells it to a later run, also when it has long ended', async () => {
    const handle = await env.client.workflow.start<typeof hurried>('hurried', {
      workflowId: 'hurried',
      taskQueue: 'synod',
      args: ['in', { task_id: 'ended', title: 't', linger_seconds: 1 }],
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
      args: ['in', { task_id: 'taken', title: 'ours' }],
    });
    const failure = await failing(started);
    expect(failure.type).toBe('idempotency_conflict');
    expect(failure.message).toContain('somebody');
  });

  it.each([
    ['a bad field', 'in', { task_id: 'bad', title: 't', priority: 7 }, /priority/],
    ['a bad room', 'no room', { task_id: 'bad', title: 't' }, /room/],
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
