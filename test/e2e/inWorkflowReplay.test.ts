import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { usersBundle } from '../support/bundle.ts';
import { faultsOf, runsOf } from '../support/history.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { runDay } from '../support/userScenario.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ worker: { workflowBundle: await usersBundle() } });
});
afterAll(() => stack.stop());

it('a workflow that calls every helper, in two runs, replays', async () => {
  const { workflowId, result } = await runDay(stack.client, 'day');
  expect(result).toEqual(['task.completed', 'decision.commit', 'barrier.released', 'true']);
  const runs = await runsOf(stack.client, workflowId);
  expect(runs).toHaveLength(2);
  // Of a reply that comes while the workflow ends, the server has it look again.
  expect(faultsOf(runs).filter((cause) => cause !== 'cause 1: UnhandledCommand')).toEqual([]);
  const workflowBundle = await usersBundle();
  for (const { events } of runs) await Worker.runReplayHistory({ workflowBundle }, { events: [...events] }, workflowId);
});
