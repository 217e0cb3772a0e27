import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTimeSkipping } from '../support/timeSkipping.ts';
import { failing } from '../support/wire.ts';

let env: TestWorkflowEnvironment;
let stop: () => Promise<void>;

beforeAll(async () => {
  ({ env, stop } = await startTimeSkipping());
});
afterAll(() => stop());

async function startLocks(room: string, permits: { [resource: string]: number }) {
  return await env.client.workflow.start('lockManager', {
    workflowId: `synod:${room}:locks`,
    taskQueue: 'synod',
    args: [{ room, config: { permits } }],
  });
}

const permits = (count: number, name: (n: number) => string) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [name(n), 1]));

it('fails at once a lock manager that is started with more configuration than it may hand over, and says which', async () => {
  const handle = await startLocks(
    'large',
    permits(1_000, (n) => `${n}-`.padEnd(200, '日')),
  );
  const failed = await failing(handle.result());
  expect(failed).toMatchObject({ type: 'over_limit' });
  expect(failed.message).toMatch(/^config\.permits /);
});

it('takes a thousand permits of usual names', async () => {
  const handle = await startLocks(
    'usual',
    permits(1_000, (n) => `database-connection-pool-${n}`),
  );
  const view: { config: { permits: object } } = await handle.query('view');
  expect(Object.keys(view.config.permits)).toHaveLength(1_000);
});
