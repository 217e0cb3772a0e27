import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTimeSkipping } from '../support/timeSkipping.ts';
import { say, Wire, type Envelope } from '../support/wire.ts';

// Where an update meets a timer within milliseconds this server hangs: such edges are in the
// tests of the protocol.

let env: TestWorkflowEnvironment;
let stop: () => Promise<void>;

beforeAll(async () => {
  ({ env, stop } = await startTimeSkipping());
});
afterAll(() => stop());

async function joined(wire: Wire, agent: string, role: string): Promise<Envelope> {
  const [reply] = await wire.ask(say('coordinator.join', agent, { role, heartbeat_seconds: 100 }));
  expect(reply?.type).toBe('coordinator.joined');
  return reply as Envelope;
}

async function logOf(wire: Wire, type: string): Promise<Envelope[]> {
  return (await wire.log()).map(({ envelope }) => envelope).filter((envelope) => envelope.type === type);
}

it('a coordinator that is not heard for three heartbeats is followed then, and not before; what it directs is refused', async () => {
  const role = 'cut-off';
  const wire = Wire.coordinator(env.client, 'time', role);
  expect(await joined(wire, 'bob', role)).toMatchObject({ epoch: 1, coordinator: 'bob' });
  await env.sleep('200 s');
  const [alive] = await wire.ask(say('coordinator.heartbeat', 'bob', { role, epoch: 1 }));
  expect(alive).toMatchObject({ type: 'coordinator.alive', epoch: 1 });
  await env.sleep('200 s');
  // A lower id, and yet it deposes nobody.
  expect(await joined(wire, 'ann', role)).toMatchObject({ epoch: 1, coordinator: 'bob' });
  await env.sleep('80 s');
  expect(await wire.view()).toMatchObject({ status: 'held', epoch: 1, coordinator: 'bob' });
  await env.sleep('40 s');
  expect(await wire.view()).toMatchObject({ status: 'held', epoch: 2, coordinator: 'ann' });
  const [lost] = await logOf(wire, 'coordinator.lost');
  expect(lost).toMatchObject({ epoch: 1, coordinator: 'bob' });
  const silence = Date.parse(String(lost?.['ts'])) - Date.parse(String(alive?.['ts']));
  expect(silence).toBeGreaterThanOrEqual(300_000);
  expect(silence).toBeLessThan(315_000);

  const [refused] = await wire.ask(say('coordinator.directive', 'bob', { role, epoch: 1, directive: 'go on' }));
  expect(refused).toMatchObject({ type: 'error', code: 'stale_epoch' });
  const [accepted] = await wire.ask(say('coordinator.directive', 'ann', { role, epoch: 2, directive: 'go on' }));
  expect(accepted).toMatchObject({ type: 'coordinator.accepted', epoch: 2 });
  expect(await logOf(wire, 'coordinator.directive')).toMatchObject([{ from: 'ann', epoch: 2 }]);
});

it('a role that nobody stands for is vacant until the next joins, in the next epoch', async () => {
  const role = 'vacant';
  const wire = Wire.coordinator(env.client, 'time', role);
  await joined(wire, 'bob', role);
  await env.sleep('320 s');
  expect(await wire.view()).toMatchObject({ status: 'vacant', epoch: 1 });
  const [refused] = await wire.ask(say('coordinator.directive', 'bob', { role, epoch: 1, directive: 'go on' }));
  expect(refused).toMatchObject({ type: 'error', code: 'not_holder' });
  await env.sleep('1 day');
  expect(await wire.view()).toMatchObject({ status: 'vacant', epoch: 1 });
  expect(await joined(wire, 'zoe', role)).toMatchObject({ epoch: 2, coordinator: 'zoe' });
  expect(await logOf(wire, 'coordinator.elected')).toMatchObject([
    { epoch: 1, coordinator: 'bob' },
    { epoch: 2, coordinator: 'zoe' },
  ]);
});
