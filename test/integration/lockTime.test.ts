import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTimeSkipping } from '../support/timeSkipping.ts';
import { say, Wire, type Envelope } from '../support/wire.ts';

let env: TestWorkflowEnvironment;
let stop: () => Promise<void>;

beforeAll(async () => {
  ({ env, stop } = await startTimeSkipping());
});
afterAll(() => stop());

async function request(wire: Wire, from: string, more: object = {}): Promise<Envelope> {
  const message = say('lock.request', from, { resources: ['a'], lock_type: 'exclusive', ...more });
  const [reply] = await wire.ask(message);
  if (!reply) throw new Error('no reply');
  return reply;
}

async function told(wire: Wire, type: string): Promise<Envelope[]> {
  return (await wire.log()).map(({ envelope }) => envelope).filter((envelope) => envelope.type === type);
}

const timeOf = (envelope: Envelope | undefined, field = 'ts'): number => Date.parse(String(envelope?.[field]));

describe('a lock whose holder says nothing more', () => {
  it('expires at the end of its lease, is rolled back, and is the next one’s with a higher token', async () => {
    const wire = Wire.locks(env.client, 'lock-expiry', { config: { rollback_seconds: 10_000 } });
    const held = await request(wire, 'ann', { lease_seconds: 60 });
    expect(await request(wire, 'bob', { wait_seconds: 10_000 })).toMatchObject({ type: 'lock.queued', position: 1 });
    await env.sleep('45 s');
    expect(await told(wire, 'lock.expired')).toEqual([]);
    await env.sleep('40 s');
    const [expired] = await told(wire, 'lock.expired');
    expect(expired).toMatchObject({ holder: 'ann', lock_id: held['lock_id'], tokens: held['tokens'] });
    expect(timeOf(expired)).toBeGreaterThanOrEqual(timeOf(held, 'lease_expires_at'));
    const granted = (await told(wire, 'lock.granted')).find(({ to }) => to === 'bob');
    // Nobody supplied a rollback: it ends at once, long before its time.
    expect(granted?.['tokens']).toEqual({ a: 2 });
    const [refused] = await wire.ask(say('lock.renew', 'ann', { lock_id: held['lock_id'] }));
    expect(refused).toMatchObject({ type: 'error', code: 'not_holder' });
  });
});

describe('a request that waits in vain', () => {
  it('is denied after its wait, and costs its agent what it holds', async () => {
    const wire = Wire.locks(env.client, 'lock-timeout');
    await request(wire, 'ann', { lease_seconds: 300 });
    const held = await request(wire, 'bob', { resources: ['b'], lease_seconds: 300 });
    const queued = await request(wire, 'bob', { wait_seconds: 100 });
    expect(queued).toMatchObject({ type: 'lock.queued', blocked_by: ['ann'] });
    await env.sleep('60 s');
    expect(await told(wire, 'lock.denied')).toEqual([]);
    await env.sleep('60 s');
    expect(await told(wire, 'lock.denied')).toMatchObject([
      { to: 'bob', lock_id: queued['lock_id'], reason: 'timeout', released: [held['lock_id']], retry: 1 },
    ]);
    expect(await wire.view()).toMatchObject({ held: 1, waiting: 0 });
  });
});
