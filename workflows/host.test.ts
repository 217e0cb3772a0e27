import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Continued, FakeTemporal, loadHost } from './temporal.fixture.ts';

const WORKFLOW_ID = 'synod:lab:locks';
/** More than a run may have, and longer than one serves on for quiescence. */
const LONG_HISTORY = 4_000;
const SERVES_ON_MS = 2_500;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
  vi.doUnmock('@temporalio/workflow');
});

/** A lock manager whose history is long, with a lock that was granted to a workflow by `reply_to`: its signal and its publication are under way. */
async function handingOver() {
  const temporal = new FakeTemporal(WORKFLOW_ID);
  const { runHost, lockManager } = await loadHost(temporal);
  const ended = runHost(lockManager, { room: 'lab' }).then(
    () => new Error('it has ended'),
    (error: unknown) => error,
  );
  await temporal.settle();
  let sent = 0;
  const request = async (agent: string) => {
    sent += 1;
    const message = { type: 'lock.request', id: `m${sent}`, from: agent, ts: '', reply_to: 'my-workflow' };
    temporal.handlers.get('request')?.([{ ...message, resources: [agent], lock_type: 'exclusive' }]);
    await temporal.settle();
  };
  await request('ann');
  expect([temporal.signals.length, temporal.publications.length]).toEqual([1, 1]);
  temporal.historyLength = LONG_HISTORY;
  await request('bob');
  vi.setSystemTime(Date.now() + SERVES_ON_MS);
  await request('cleo');
  let outcome: unknown;
  void ended.then((value) => (outcome = value));
  await temporal.settle();
  return { temporal, outcome: () => outcome };
}

function stateOf(outcome: unknown): {
  subscribers: { outbox: { envelope: object }[] };
  mirror: { pending: { seq: number; envelope: object }[] };
} {
  expect(outcome).toBeInstanceOf(Continued);
  return (outcome as { argument: { state: ReturnType<typeof stateOf> } }).argument.state;
}

it('waits for the signals under way before it hands over, so that the next run does not send them again', async () => {
  const { temporal, outcome } = await handingOver();
  expect(outcome()).toBeUndefined();
  temporal.signals[0]?.open();
  await temporal.settle();
  const { outbox } = stateOf(outcome()).subscribers;
  expect(outbox.map(({ envelope }) => envelope)).toMatchObject([{ to: 'bob' }, { to: 'cleo' }]);
});

it('hands over the events that are being published: nobody knows whether they are', async () => {
  const { temporal, outcome } = await handingOver();
  temporal.signals[0]?.open();
  await temporal.settle();
  const { pending } = stateOf(outcome()).mirror;
  expect(pending.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
});

it('cancels its timer before it hands over: no lease ends in between', async () => {
  const { temporal, outcome } = await handingOver();
  expect(temporal.scopes.filter(({ cancelled }) => !cancelled)).toEqual([]);
  expect(temporal.scopes.length).toBeGreaterThan(0);
  expect(outcome()).toBeUndefined();
});
