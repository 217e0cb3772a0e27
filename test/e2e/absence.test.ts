import { afterAll, beforeAll, expect, it } from 'vitest';
import { runsOf } from '../support/history.ts';
import { startStack, type RunningWorker, type Stack } from '../support/stack.ts';
import { retried, say, Wire, type Envelope } from '../support/wire.ts';

const LEASE_SECONDS = 10;
/** Three of them are as long as a lease, about. */
const HEARTBEAT_SECONDS = 4;
/** Whoever is later than the host's two seconds was away. */
const AWAY_MS = 2_500;

let stack: Stack;
let worker: RunningWorker;

beforeAll(async () => {
  stack = await startStack({ worker: null });
  worker = await stack.work();
});
afterAll(() => stack.stop());

/** When the last of the workflow's timers ran out, epoch milliseconds: nobody is there to handle it, or to start another. */
async function timersFired(wire: Wire): Promise<number> {
  const times: number[] = [];
  await expect
    .poll(async () => {
      const events = (await runsOf(stack.client, wire.workflowId)).flatMap((run) => run.events);
      const started = events.filter((event) => event.timerStartedEventAttributes).length;
      const canceled = events.filter((event) => event.timerCanceledEventAttributes).length;
      const fired = events.filter((event) => event.timerFiredEventAttributes);
      times.push(Number(fired.at(-1)?.eventTime?.seconds) * 1000);
      return started - canceled - fired.length;
    })
    .toBe(0);
  return times.at(-1) ?? Number.NaN;
}

async function typesOf(wire: Wire): Promise<string[]> {
  return (await retried(() => wire.log())).map(({ envelope }) => envelope.type);
}

it('while the only worker was away, longer than any lease, nobody lost what it held', async () => {
  const locks = Wire.locks(stack.client, 'away');
  const task = Wire.task(stack.client, 'away', 'kept');
  const silent = Wire.task(stack.client, 'away', 'silent');
  const election = Wire.coordinator(stack.client, 'away');
  const lease = { lease_seconds: LEASE_SECONDS };
  const terms = { title: 'kept', claim_seconds: 600 };
  for (const [wire, task_id] of [
    [task, 'kept'],
    [silent, 'silent'],
  ] as const) {
    await retried(() => wire.ask(say('task.announce', 'producer', { ...terms, ...lease, task_id })));
    await retried(() => wire.ask(say('task.claim', 'holder', { task_id })));
  }
  const request = { resources: ['x'], lock_type: 'exclusive', ...lease };
  const [granted] = await retried(() => locks.ask(say('lock.request', 'holder', request)));
  await retried(() =>
    election.ask(say('coordinator.join', 'leader', { role: 'main', heartbeat_seconds: HEARTBEAT_SECONDS })),
  );
  await retried(() =>
    election.ask(say('coordinator.join', 'a-candidate', { role: 'main', heartbeat_seconds: HEARTBEAT_SECONDS })),
  );
  await worker.stop();

  const fired = await Promise.all([locks, task, silent, election].map(timersFired));
  await new Promise((resolve) => setTimeout(resolve, Math.max(...fired) + 1000 + AWAY_MS - Date.now()));
  const held = (message: Envelope, wire: Wire) => retried(() => wire.ask(message));
  const answers = Promise.all([
    held(say('lock.renew', 'holder', { lock_id: granted?.['lock_id'], lease_seconds: 300 }), locks),
    held(say('task.complete', 'holder', { task_id: 'kept', attempt: 1 }), task),
    held(say('coordinator.heartbeat', 'leader', { role: 'main', epoch: 1 }), election),
  ]);
  worker = await stack.work();
  expect((await answers).map(([first]) => first?.type)).toEqual([
    'lock.renewed',
    'task.completed',
    'coordinator.alive',
  ]);
  for (const wire of [locks, task]) expect(await typesOf(wire)).toContain('synod.resumed');
  expect(await typesOf(locks)).not.toContain('lock.expired');

  // Who died with the worker, or before, loses a lease one lease later.
  const expired = await silent.until(({ type }) => type === 'task.expired');
  const log = (await retried(() => silent.log())).map(({ envelope }) => envelope);
  const resumed = log.find(({ type }) => type === 'synod.resumed');
  const later = Date.parse(String(expired['ts'])) - Date.parse(String(resumed?.['ts']));
  expect(later).toBeGreaterThanOrEqual(LEASE_SECONDS * 1000);
  expect(log.filter(({ type }) => type === 'synod.resumed')).toHaveLength(1);
});
