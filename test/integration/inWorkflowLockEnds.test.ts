import { Client, type WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { usersBundle } from '../support/bundle.ts';
import { LockUsers, options } from '../support/lockUsers.ts';
import { startTimeSkipping } from '../support/timeSkipping.ts';
import { failing, say } from '../support/wire.ts';
import type { late, many, sharing } from '../users/workflows.ts';

// Time passes only in `env.sleep`.
let env: TestWorkflowEnvironment;
let client: Client;
let users: LockUsers;
let stop: () => Promise<void>;

beforeAll(async () => {
  ({ env, stop } = await startTimeSkipping(usersBundle));
  client = new Client({ connection: env.connection });
  users = new LockUsers(client);
});
afterAll(() => stop());

type Handle = WorkflowHandleWithFirstExecutionRunId;

describe('a lock in a workflow', () => {
  it('begins nothing by a grant that is over when it is received, and asks anew', async () => {
    const first: Handle = await users.hold('over', 'a', 0);
    await users.grantsOf('over', 1);
    const waiter = await client.workflow.start<typeof late>('late', {
      workflowId: 'over late',
      taskQueue: 'synod',
      args: [
        'report',
        options('over', { leaseSeconds: 2, waitSeconds: 600 }),
        { types: ['lock.granted', 'lock.expired'], first: 1 },
      ],
    });
    await users.managerOf('over').until(({ type }) => type === 'lock.queued');
    await first.signal('go');
    await first.result();
    const [, dead] = await users.grantsOf('over', 2);
    await env.sleep('3 s');
    await users.managerOf('over').until(({ type }) => type === 'lock.expired');
    await waiter.signal('go');
    const token = await waiter.result();
    expect(dead).toMatchObject({ tokens: { report: 2 } });
    expect(token).toBeGreaterThan(2);
    expect(await users.isFree('over')).toBe(true);
  });

  it('is lost where the release finds that it is held no more, though the body has ended', async () => {
    const handle = await client.workflow.start<typeof late>('late', {
      workflowId: 'unknowing',
      taskQueue: 'synod',
      args: ['report', options('unknowing'), { types: ['lock.expired'], first: 0 }],
    });
    const [grant] = await users.grantsOf('unknowing', 1);
    await users
      .managerOf('unknowing')
      .ask(say('lock.force_release', 'operator:jo', { lock_id: grant?.['lock_id'], reason: 'needed' }));
    await handle.signal('go');
    const failed = failing(handle.result());
    await users.managerOf('unknowing').until(({ type, to }) => type === 'error' && to === 'unknowing');
    await env.sleep('3 s');
    const failure = await failed;
    expect(failure).toMatchObject({
      type: 'LockLost',
      message: expect.stringContaining('the release was refused') as string,
    });
  });

  it('loses at once all that a denial has released', async () => {
    const first: Handle = await users.hold('many', 'a', 0);
    await users.grantsOf('many', 1);
    const handle = await client.workflow.start<typeof many>('many', {
      workflowId: 'many',
      taskQueue: 'synod',
      args: [45, 'report', options('many')],
    });
    await users.managerOf('many').until(({ type, to }) => type === 'lock.queued' && to === 'many');
    await env.sleep('2 s');
    const denied = await users.managerOf('many').until(({ type }) => type === 'lock.denied');
    expect(denied).toMatchObject({ released_count: 45 });
    await env.sleep('3 s');
    expect(await handle.result()).toBe(45);
    await first.signal('go');
    await first.result();
  });

  it('is shared by branches until the last of them has ended', async () => {
    const handle = await client.workflow.start<typeof sharing>('sharing', {
      workflowId: 'sharing',
      taskQueue: 'synod',
      args: ['report', options('sharing'), 25_000],
    });
    await users.grantsOf('sharing', 1);
    await env.sleep('10 s');
    expect(await users.isFree('sharing')).toBe(false);
    await env.sleep('30 s');
    const [first, second] = await handle.result();
    expect(first).toBe(second);
    expect(await users.isFree('sharing')).toBe(true);
  });
});
