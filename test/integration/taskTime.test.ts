import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTimeSkipping } from '../support/timeSkipping.ts';
import { failing, say, Wire, type Envelope } from '../support/wire.ts';

let env: TestWorkflowEnvironment;
let stop: () => Promise<void>;

beforeAll(async () => {
  ({ env, stop } = await startTimeSkipping());
});
afterAll(() => stop());

function taskOf(name: string): Wire {
  return Wire.task(env.client, 'time', name);
}

async function announced(name: string, fields: object = {}): Promise<Wire> {
  const wire = taskOf(name);
  const [reply] = await wire.ask(say('task.announce', 'producer', { task_id: name, title: name, ...fields }));
  expect(reply?.type).toBe('task.accepted');
  return wire;
}

async function claimed(wire: Wire, name: string, agent: string): Promise<Envelope> {
  const [ack] = await wire.ask(say('task.claim', agent, { task_id: name }));
  expect(ack?.type).toBe('task.ack');
  return ack as Envelope;
}

const timeOf = (envelope: Envelope, field = 'ts'): number => Date.parse(String(envelope[field]));

async function logOf(wire: Wire, type: string): Promise<Envelope[]> {
  return (await wire.log()).map(({ envelope }) => envelope).filter((envelope) => envelope.type === type);
}

describe('a lease of 300 seconds', () => {
  it('expires three times, and then the task has failed; its result stays', async () => {
    const started = performance.now();
    const wire = await announced('thrice');
    for (const attempt of [1, 2, 3]) {
      const ack = await claimed(wire, 'thrice', `worker-${attempt}`);
      expect(ack).toMatchObject({ attempt, lease_seconds: 300 });
      await env.sleep('280 s');
      expect(await wire.view()).toMatchObject({ status: 'held', attempt });
      await env.sleep('40 s');
      expect(await wire.view()).toMatchObject(
        attempt < 3 ? { status: 'open', attempt: attempt + 1 } : { status: 'failed', attempt: 3 },
      );
      const expired = (await logOf(wire, 'task.expired')).at(-1);
      expect(expired).toMatchObject({ holder: `worker-${attempt}`, attempt });
      const late = timeOf(expired as Envelope) - timeOf(ack, 'lease_expires_at');
      expect(late).toBeGreaterThanOrEqual(0);
      expect(late).toBeLessThan(15_000);
    }
    const again = await wire.ask(say('task.claim', 'worker-4', { task_id: 'thrice' }));
    expect(again).toEqual([expect.objectContaining({ type: 'error', code: 'closed' })]);
    // `result` skips the time that the workflow lingers.
    expect(await wire.result()).toMatchObject({
      outcome: { type: 'task.failed', reason: 'attempts_exhausted', attempt: 3 },
      opened: { from: 'producer' },
    });
    console.info(
      `integration: three leases of 300 s and the failure took ${((performance.now() - started) / 1000).toFixed(2)} s of real time`,
    );
  });

  it.each([
    [-20_000, 'task.renewed'],
    [20_000, 'task.expired'],
  ])('renewed %i ms from its end: %s', async (offset, outcome) => {
    const name = `edge${offset}`;
    const wire = await announced(name);
    const ack = await claimed(wire, name, 'w');
    const end = timeOf(ack, 'lease_expires_at');
    await env.sleep(end + offset - (await env.currentTimeMs()));
    const [reply] = await wire.ask(say('task.renew', 'w', { task_id: name, attempt: 1 }));
    expect(reply).toMatchObject(
      outcome === 'task.renewed' ? { type: outcome, attempt: 1 } : { type: 'error', code: 'stale_token' },
    );
    expect(await logOf(wire, 'task.expired')).toHaveLength(outcome === 'task.expired' ? 1 : 0);
  });

  it('counts a renewal from now, and never adds up', async () => {
    const wire = await announced('renewals');
    await claimed(wire, 'renewals', 'w');
    for (let i = 0; i < 5; i++) {
      await env.sleep('200 s');
      const before = await env.currentTimeMs();
      const [reply] = await wire.ask(say('task.renew', 'w', { task_id: 'renewals', attempt: 1 }));
      const after = await env.currentTimeMs();
      expect(timeOf(reply as Envelope, 'lease_expires_at')).toBeGreaterThanOrEqual(before + 300_000 - 1);
      expect(timeOf(reply as Envelope, 'lease_expires_at')).toBeLessThanOrEqual(after + 300_000 + 1);
    }
    expect(await wire.view()).toMatchObject({ status: 'held', attempt: 1 });
  });
});

describe('a task that nobody claims', () => {
  it('is announced again after windows that double up to 10 minutes, and spends no attempt', async () => {
    const wire = await announced('unwanted', { claim_seconds: 40 });
    const announcedAt = timeOf((await logOf(wire, 'task.announce'))[0] as Envelope, 'ts');
    const windows = [40, 80, 160, 320, 600, 600];
    await env.sleep(`${windows.reduce((a, b) => a + b) + 100} s`);
    const times = [
      Date.parse(String((await wire.view())['announced_at'])),
      ...(await logOf(wire, 'task.unclaimed')).map((e) => timeOf(e)),
    ];
    expect(announcedAt).not.toBeNaN();
    const late = times.slice(1).map((time, i) => (time - (times[i] ?? 0)) / 1000 - (windows[i] ?? 0));
    expect(late).toHaveLength(windows.length);
    // To the millisecond it is tested without a server; here the machine's time comes on top.
    for (const each of late) {
      expect(each).toBeGreaterThanOrEqual(0);
      expect(each).toBeLessThan(15);
    }
    expect(await logOf(wire, 'task.announce')).toHaveLength(1 + windows.length);
    expect(await wire.view()).toMatchObject({ status: 'open', attempt: 1 });
  });

  it('has failed at the end of its announcement', async () => {
    const expiresAt = new Date((await env.currentTimeMs()) + 100_000).toISOString();
    const wire = await announced('perishable', { expires_at: expiresAt });
    await env.sleep('80 s');
    expect(await wire.view()).toMatchObject({ status: 'open' });
    expect(await wire.result()).toMatchObject({ outcome: { type: 'task.failed', reason: 'expired' } });
  });

  it('but was claimed keeps its lease past the end of its announcement, and is not announced after it', async () => {
    const expiresAt = new Date((await env.currentTimeMs()) + 100_000).toISOString();
    const wire = await announced('late', { expires_at: expiresAt });
    await claimed(wire, 'late', 'w');
    await env.sleep('200 s');
    expect(await wire.view()).toMatchObject({ status: 'held' });
    expect(await wire.result()).toMatchObject({ outcome: { type: 'task.failed', reason: 'expired', attempt: 1 } });
  });
});

describe('a task that was never announced', () => {
  it('answers closed, fails after 60 seconds, and leaves its name free', async () => {
    const wire = taskOf('unopened');
    const [refused] = await wire.ask(say('task.claim', 'w', { task_id: 'unopened' }));
    expect(refused).toMatchObject({ type: 'error', code: 'closed' });
    const [opening] = await wire.ask(say('task.announce', 'producer', { task_id: 'unopened', title: 'too late' }));
    expect(opening).toMatchObject({ type: 'error', code: 'closed' });
    await env.sleep('80 s');
    expect((await failing(wire.handle.result())).type).toBe('closed');
    const reply = await announced('unopened');
    expect(await reply.view()).toMatchObject({ status: 'open', attempt: 1 });
  });
});

describe('a task that has ended', () => {
  it('answers while it lingers, and then its result says the same', async () => {
    const wire = await announced('done');
    await claimed(wire, 'done', 'w');
    const complete = say('task.complete', 'w', { task_id: 'done', attempt: 1, result: { files: 3 } });
    const completed = await wire.ask(complete);
    expect(completed).toEqual([expect.objectContaining({ type: 'task.completed', attempt: 1, result: { files: 3 } })]);
    await env.sleep('50 s');
    expect(await wire.ask(complete)).toEqual(completed);
    expect((await wire.ask(say('task.renew', 'w', { task_id: 'done', attempt: 1 })))[0]).toMatchObject({
      code: 'closed',
    });
    await env.sleep('11 s');
    const result = await wire.result();
    expect(result.outcome).toEqual(completed[0]);
    expect(result.opened.from).toBe('producer');
    expect(result.opened.body_hash).toMatch(/^[0-9a-f]{64}$/);
    // Started again it is not: such a client reads the result.
    expect((await failing(wire.request(say('task.claim', 'w', { task_id: 'done' })))).type).toBe(
      'WorkflowExecutionAlreadyStartedError',
    );
  });
});
