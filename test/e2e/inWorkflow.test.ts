import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Agent } from '../../src/client/index.ts';
import { usersBundle } from '../support/bundle.ts';
import { faultsOf, runsOf, signalsOf } from '../support/history.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { say, Wire } from '../support/wire.ts';
import type { producer } from '../users/workflows.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ worker: { workflowBundle: await usersBundle() } });
});
afterAll(() => stack.stop());

function produce(workflowId: string, room: string, taskId: string) {
  return stack.client.workflow.start<typeof producer>('producer', {
    workflowId,
    taskQueue: 'synod',
    args: [room, { taskId, title: 'Count', input: { n: 2 }, lingerSeconds: 1 }],
  });
}

/** Waits until the workflow has announced it: a message before that would start it, and spoil the opening. */
async function opened(wire: Wire): Promise<void> {
  await expect
    .poll(() =>
      wire.view().then(
        ({ status }) => status,
        () => 'none',
      ),
    )
    .toBe('open');
}

describe('a task that a workflow announces', () => {
  it('is done by an agent, and its outcome comes by signal', async () => {
    const stop = new AbortController();
    const agent = new Agent(stack.client, 'worker-1');
    const working = agent.work('office', async ({ input = null, token }) => ({ input, token }), {
      signal: stop.signal,
    });
    const handle = await produce('order 1', 'office', 'count');
    expect(await handle.result()).toEqual({
      type: 'task.completed',
      taskId: 'count',
      attempt: 1,
      holder: 'worker-1',
      result: { input: { n: 2 }, token: 1 },
    });
    stop.abort();
    await working;
    const runs = await runsOf(stack.client, 'order 1');
    expect(faultsOf(runs)).toEqual([]);
    expect(signalsOf(runs, 'synod.reply')).toContainEqual(
      expect.objectContaining({ type: 'task.completed', task_id: 'count' }),
    );
  });

  it('returns its outcome where it is announced again after its workflow has completed', async () => {
    const wire = Wire.task(stack.client, 'office', 'old');
    const first = await produce('order 2', 'office', 'old');
    await opened(wire);
    await wire.ask(say('task.claim', 'w', { task_id: 'old' }));
    await wire.ask(say('task.complete', 'w', { task_id: 'old', attempt: 1, result: 'once' }));
    const outcome = await first.result();
    await wire.result();
    // The same workflow id is the same agent: what it announces is the same announcement.
    expect(await (await produce('order 2', 'office', 'old')).result()).toEqual(outcome);
  });

  it('of the same name in two rooms is not taken for the other', async () => {
    const [a, b] = ['room-a', 'room-b'].map((room) => ({ room, wire: Wire.task(stack.client, room, 'same') }));
    if (!a || !b) throw new Error('two rooms');
    const handle = await stack.client.workflow.start('twice', {
      workflowId: 'twice',
      taskQueue: 'synod',
      args: [a.room, b.room, 'same'],
    });
    for (const { room, wire } of [b, a]) {
      await opened(wire);
      await wire.ask(say('task.claim', 'w', { task_id: 'same' }));
      await wire.ask(say('task.complete', 'w', { task_id: 'same', attempt: 1, result: room }));
    }
    expect(await handle.result()).toMatchObject([{ result: 'room-a' }, { result: 'room-b' }]);
  });
});
