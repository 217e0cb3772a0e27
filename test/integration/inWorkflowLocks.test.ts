import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Client, type WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shardOf } from '../../src/envelope/shards.ts';
import type { LockOptions } from '../../src/in-workflow/index.ts';
import { usersBundle } from '../support/bundle.ts';
import { LockUsers, options } from '../support/lockUsers.ts';
import { startTimeSkipping } from '../support/timeSkipping.ts';
import { failing, say } from '../support/wire.ts';
import type { crowd, denied, greedy, nested, renewing, thrower, unanswered } from '../users/workflows.ts';

// Time passes only in `env.sleep`: where a result is awaited with nothing else under way, this server skips to the end of all
// workflows, the lock manager's too.
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

describe('withLock', () => {
  it('excludes another workflow, and gives each a higher token', async () => {
    const handles = [
      await users.hold('two', 'a', 5_000),
      await users.hold('two', 'b', 3_000),
      await users.hold('two', 'c', 1_000),
    ];
    await users.grantsOf('two', 1);
    await env.sleep('20 s');
    const seen = (await Promise.all(handles.map((handle) => handle.result()))).sort((a, b) => a.from - b.from);
    for (const [i, { token, from }] of seen.entries()) {
      const before = seen[i - 1];
      if (!before) continue;
      expect(token).toBeGreaterThan(before.token);
      expect(from).toBeGreaterThanOrEqual(before.to);
    }
    expect(await users.isFree('two')).toBe(true);
  });

  it('keeps it past its lease for as long as the body runs', async () => {
    const handle = await users.hold('long', 'a', 600_000, { leaseSeconds: 30 });
    await users.grantsOf('long', 1);
    await env.sleep('290 s');
    expect(await users.isFree('long')).toBe(false);
    await env.sleep('320 s');
    const seen = await handle.result();
    expect(seen.to - seen.from).toBeGreaterThanOrEqual(600_000);
    const { events } = await handle.fetchHistory();
    const told = events?.filter(({ workflowExecutionSignaledEventAttributes: signal }) => signal).length ?? 0;
    console.info(`integration: a lock renewed ${told - 1} times: ${events?.length} events of its holder's history`);
    expect(await users.isFree('long')).toBe(true);
    expect(await users.grantsOf('long', 1)).toMatchObject([{ lock_id: seen.lockId }, { to: 'probe' }]);
  });

  it('releases it when the body throws', async () => {
    const thrown = client.workflow.execute<typeof thrower>('thrower', {
      workflowId: 'thrower',
      taskQueue: 'synod',
      args: ['report', options('thrown')],
    });
    expect((await failing(thrown)).type).toBe('thrown');
    expect(await users.isFree('thrown')).toBe(true);
  });

  it('releases it when the workflow is cancelled', async () => {
    const handle = await users.hold('cancelled', 'a', 0);
    await users.grantsOf('cancelled', 1);
    await handle.cancel();
    await failing(handle.result());
    expect(await users.isFree('cancelled')).toBe(true);
  });

  it('takes the request back when the wait is cancelled', async () => {
    const first: Handle = await users.hold('left', 'a', 0);
    await users.grantsOf('left', 1);
    const second: Handle = await users.hold('left', 'b', 0, { waitSeconds: 600 });
    await users.managerOf('left').until(({ type }) => type === 'lock.queued');
    await second.cancel();
    await failing(second.result());
    await users.managerOf('left').until(({ type }) => type === 'lock.cancelled');
    await first.signal('go');
    await first.result();
    expect(await users.isFree('left')).toBe(true);
  });

  it('releases it before the workflow continues as new', async () => {
    const lockId = await client.workflow.execute<typeof renewing>('renewing', {
      workflowId: 'renewing',
      taskQueue: 'synod',
      args: ['report', options('renewed'), 3],
    });
    const grants = await users.grantsOf('renewed', 3);
    expect(new Set(grants.map((grant) => grant['lock_id'])).size).toBe(3);
    expect(grants.at(-1)?.['lock_id']).toBe(lockId);
    expect(await users.isFree('renewed')).toBe(true);
  });

  it('of a terminated workflow costs the next one its lease, no more', async () => {
    const first = await users.hold('killed', 'a', 0, { leaseSeconds: 60 });
    const [grant] = await users.grantsOf('killed', 1);
    await first.terminate();
    const second = await users.hold('killed', 'b', 1_000, { waitSeconds: 600 });
    await env.sleep('90 s');
    const seen = await second.result();
    // Then the rollback had its turn.
    const end = Date.parse(String(grant?.['lease_expires_at']));
    expect(seen.from).toBeGreaterThanOrEqual(end);
    expect(seen.from).toBeLessThanOrEqual(end + 15_000);
  });

  it('cancels the body when the lock is lost, and says so', async () => {
    const handle = await users.hold('lost', 'a', 0);
    const [grant] = await users.grantsOf('lost', 1);
    await users
      .managerOf('lost')
      .ask(say('lock.force_release', 'operator:jo', { lock_id: grant?.['lock_id'], reason: 'needed' }));
    const failure = await failing(handle.result());
    expect(failure.type).toBe('LockLost');
    expect(failure.message).toContain('report');
  });

  it('is not in its own way: a part of it is its own, more is another lock', async () => {
    const seen = await client.workflow.execute<typeof nested>('nested', {
      workflowId: 'nested',
      taskQueue: 'synod',
      args: [options('nested')],
    });
    expect(seen['inner']).toBe(seen['outer']);
    expect(seen['innerA']).toBe(seen['a']);
    expect(seen['more']).not.toBe(seen['outer']);
    // One release for each lock, and the outer one not before its end.
    const released = (await users.managerOf('nested').log())
      .map(({ envelope }) => envelope)
      .filter(({ type }) => type === 'lock.released');
    expect(released.map((envelope) => envelope['lock_id'])).toEqual([seen['more'], seen['outer']]);
  });

  it('asks three times, and then the room knows; a try asks once', async () => {
    const handle = await users.hold('busy', 'a', 0);
    await users.grantsOf('busy', 1);
    const ask = (id: string, more: Partial<LockOptions>) =>
      client.workflow.execute<typeof denied>('denied', {
        workflowId: id,
        taskQueue: 'synod',
        args: ['report', options('busy', more)],
      });
    expect(await ask('tries', { waitSeconds: 0 })).toMatchObject({ reason: 'busy' });
    const waits = ask('waits', { waitSeconds: 10 });
    await users.managerOf('busy').until(({ type }) => type === 'lock.queued');
    await env.sleep('40 s');
    const { reason, ms } = await waits;
    expect(reason).toBe('timeout');
    expect(ms).toBeGreaterThanOrEqual(30_000);
    const log = (await users.managerOf('busy').log()).map(({ envelope }) => envelope);
    expect(log.filter(({ type, to }) => type === 'lock.denied' && to === 'waits')).toHaveLength(3);
    expect(log).toContainEqual(expect.objectContaining({ type: 'lock.escalated', agent: 'waits' }));
    await handle.signal('go');
    await handle.result();
  });

  it('is lost where more is waited for in vain inside it, also to a body that goes on', async () => {
    const handle = await users.hold('greedy', 'a', 0);
    await users.grantsOf('greedy', 1);
    for (const [goesOn, type] of [
      [false, 'LockDenied'],
      [true, 'LockLost'],
    ] as const) {
      const stuck = client.workflow.execute<typeof greedy>('greedy', {
        workflowId: `greedy ${type}`,
        taskQueue: 'synod',
        args: ['own', 'report', options('greedy', { waitSeconds: 2, agent: type }), goesOn],
      });
      const failure = failing(stuck);
      await users.managerOf('greedy').until((said) => said.type === 'lock.queued' && said.to === type);
      await env.sleep('5 s');
      expect((await failure).type).toBe(type);
    }
    await handle.signal('go');
    await handle.result();
    // Each once, and never again.
    const log = (await users.managerOf('greedy').log()).map(({ envelope }) => envelope);
    expect(log.filter(({ type }) => type === 'lock.denied')).toHaveLength(2);
    expect(await users.managerOf('greedy').view()).toMatchObject({ held: 0, waiting: 0 });
  });

  it('is refused a bad field, by its name', async () => {
    const started = client.workflow.execute<typeof denied>('denied', {
      workflowId: 'bad lock',
      taskQueue: 'synod',
      args: ['report', options('bad', { leaseSeconds: 301 })],
    });
    const failure = await failing(started);
    expect(failure.type).toBe('invalid_envelope');
    expect(failure.message).toContain('lease_seconds');
  });

  it('asks the shard that its resources share, and is refused where they share none', async () => {
    const shards = 3;
    const { lockId } = await (await users.hold('spread', 'a', 1, { shards })).result();
    expect(lockId).toBe(`l-${shardOf('report', shards)}-1`);
    expect(shardOf('a', shards)).not.toBe(shardOf('b', shards));
    const apart = client.workflow.execute<typeof nested>('nested', {
      workflowId: 'apart',
      taskQueue: 'synod',
      args: [options('spread', { shards })],
    });
    const failure = await failing(apart);
    expect(failure.type).toBe('invalid_envelope');
    expect(failure.message).toContain('{tag}');
  });

  it('asks again where the answer was lost', async () => {
    const handle = await client.workflow.start<typeof unanswered>('unanswered', {
      workflowId: 'unanswered',
      taskQueue: 'synod',
      args: ['report', options('unanswered')],
    });
    await users.grantsOf('unanswered', 1);
    // It asks again after 15 s, and waits for the answer to its release for 5 s.
    await env.sleep('30 s');
    expect(await handle.result()).toBeGreaterThan(0);
    expect(await users.isFree('unanswered')).toBe(true);
  });
});

describe('withPermit', () => {
  it('lets in as many as there are permits', async () => {
    await users
      .managerOf('crowd', { permits: { api: 2 } })
      .ask(say('lock.request', 'probe', { resources: ['x'], lock_type: 'read' }));
    const most = await client.workflow.execute<typeof crowd>('crowd', {
      workflowId: 'crowd',
      taskQueue: 'synod',
      args: ['api', { room: 'crowd', waitSeconds: 60 }, 5],
    });
    expect(most).toBe(2);
  });
});
