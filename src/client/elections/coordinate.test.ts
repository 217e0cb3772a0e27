import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SynodError } from '../../envelope/refusal.ts';
import { coordinate, onDirective, type Directive, type ElectionConnection } from './coordinate.ts';
import { candidate, HEARTBEAT_SECONDS, LocalConnection, WAY_MS } from './election.fixture.ts';
import { LeaseLost } from '../leases/lease.ts';
import type { Listener } from '../connection/reader.ts';
import type * as timing from '../timing/timing.ts';

const LAPSE_MS = 3 * HEARTBEAT_SECONDS * 1_000;

// The timers of node:timers/promises are real ones in any case.
vi.mock('../timing/timing.ts', async (original) => ({
  ...(await original<typeof timing>()),
  pause: async (ms: number, signal: AbortSignal) =>
    await new Promise<boolean>((resolve) => {
      if (signal.aborted) return resolve(false);
      const timer = setTimeout(() => resolve(true), ms);
      signal.addEventListener('abort', () => (clearTimeout(timer), resolve(false)), { once: true });
    }),
}));

beforeEach(
  () =>
    void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] }),
);
afterEach(() => void vi.useRealTimers());

const pass = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms));
const types = (connection: LocalConnection) => connection.log.map(({ envelope }) => envelope.type);

it('leads at once where nobody else does, and goes on for as long as its heartbeats arrive', async () => {
  const connection = new LocalConnection();
  const { led } = candidate(connection, 'ann');
  await pass(10 * WAY_MS);
  expect(led).toMatchObject([{ room: 'lab', role: 'main', epoch: 1 }]);
  const directive = led[0]?.directive({ sort: 'letters' });
  await pass(WAY_MS);
  await directive;
  expect(connection.log.at(-1)?.envelope).toMatchObject({
    type: 'coordinator.directive',
    epoch: 1,
    directive: { sort: 'letters' },
  });
  await pass(4 * LAPSE_MS);
  expect(led).toHaveLength(1);
  expect(led[0]?.signal.aborted).toBe(false);
});

it('waits while another leads, and joins again within every heartbeat', async () => {
  const connection = new LocalConnection();
  candidate(connection, 'bob');
  await pass(10 * WAY_MS);
  const { led } = candidate(connection, 'ann');
  await pass(20 * HEARTBEAT_SECONDS * 1_000);
  const joins = connection.sent.filter(({ type, from }) => type === 'coordinator.join' && from === 'ann');
  expect(joins.length).toBeGreaterThanOrEqual(20);
  expect(new Set(joins.map(({ id }) => id)).size).toBe(joins.length);
  // It has never lapsed: only its first join is logged.
  expect(connection.log.filter(({ envelope }) => envelope.type === 'coordinator.join')).toHaveLength(2);
  expect(led).toEqual([]);
});

it('loses its leadership no later than for the others, and stands again', async () => {
  const connection = new LocalConnection();
  const bob = candidate(connection, 'bob');
  await pass(10 * WAY_MS);
  const ann = candidate(connection, 'ann');
  await pass(25_000);
  connection.cut('bob');
  const lost = new Promise<string[]>((resolve) =>
    bob.led[0]?.signal.addEventListener('abort', () => resolve(types(connection)), { once: true }),
  );
  await pass(LAPSE_MS);
  expect(await lost).not.toContain('coordinator.lost');
  expect(bob.led[0]?.signal.reason).toBeInstanceOf(LeaseLost);
  await expect(bob.led[0]?.directive('too late')).rejects.toBeInstanceOf(LeaseLost);
  // A heartbeat may have been under way when it was cut off: for the others it is lost that much later.
  await pass(10 * WAY_MS);
  expect(ann.led).toMatchObject([{ epoch: 2 }]);
  connection.heal('bob');
  await pass(HEARTBEAT_SECONDS * 1_000);
  ann.finish();
  await pass(10 * WAY_MS);
  await ann.ended;
  await pass(10 * WAY_MS);
  expect(bob.led.map(({ epoch }) => epoch)).toEqual([1, 3]);
  expect(bob.led[1]?.signal.aborted).toBe(false);
});

it('does not lead by a heartbeat whose answer comes too late', async () => {
  const connection = new LocalConnection();
  const { led } = candidate(connection, 'ann');
  connection.cut('ann');
  await pass(2 * LAPSE_MS);
  connection.heal('ann');
  await pass(10 * WAY_MS);
  expect(led.filter(({ signal }) => !signal.aborted).map(({ epoch }) => epoch)).toEqual([
    connection.view('coordinator') === 'ann' ? connection.view('epoch') : undefined,
  ]);
});

it('stops at once when the log says that the epoch is over', async () => {
  const connection = new LocalConnection();
  const { led } = candidate(connection, 'ann');
  await pass(10 * WAY_MS);
  const resign = { type: 'coordinator.resign', id: 'elsewhere', from: 'ann', ts: '', epoch: 1 };
  void connection.send({}, resign);
  await pass(WAY_MS);
  expect(led[0]?.signal.aborted).toBe(true);
});

it('stops at once when a directive is refused', async () => {
  const connection = new LocalConnection();
  const { led } = candidate(connection, 'ann');
  await pass(10 * WAY_MS);
  // The log is slow.
  const { send } = connection;
  vi.spyOn(connection, 'send').mockImplementation(async (target, message) =>
    message.type === 'coordinator.directive'
      ? await send(target, { ...message, from: 'zoe' })
      : await send(target, message),
  );
  const refused = led[0]?.directive('go').catch((error: unknown) => error);
  await pass(WAY_MS);
  expect(await refused).toMatchObject({ name: 'SynodError', code: 'not_holder' });
  expect(led[0]?.signal.aborted).toBe(true);
});

it('that is waited for no answer: a directive ends with the leadership', async () => {
  const connection = new LocalConnection();
  const { led } = candidate(connection, 'ann');
  await pass(10 * WAY_MS);
  connection.cut('ann');
  const directive = led[0]?.directive('go').catch((error: unknown) => error);
  await pass(LAPSE_MS);
  expect(await directive).toBeInstanceOf(LeaseLost);
});

it('has resigned when it returns by itself', async () => {
  const connection = new LocalConnection();
  const ann = candidate(connection, 'ann');
  await pass(10 * WAY_MS);
  const bob = candidate(connection, 'bob');
  await pass(10 * WAY_MS);
  ann.finish();
  await pass(10 * WAY_MS);
  await ann.ended;
  await pass(10 * WAY_MS);
  expect(types(connection)).toContain('coordinator.resigned');
  expect(bob.led).toMatchObject([{ epoch: 2 }]);
  await pass(LAPSE_MS);
  expect(ann.led).toHaveLength(1);
});

it('that throws has left, and the error is thrown', async () => {
  const connection = new LocalConnection();
  const ann = candidate(connection, 'ann');
  await pass(10 * WAY_MS);
  ann.finish(new Error('no ink'));
  await pass(10 * WAY_MS);
  expect(await ann.failed).toMatchObject({ message: 'no ink' });
  expect(connection.view('status')).toBe('vacant');
});

it('stands again where its resignation is answered that its leadership was over before', async () => {
  const connection = new LocalConnection();
  const { send } = connection;
  let refusals = 0;
  vi.spyOn(connection, 'send').mockImplementation(async (target, message) => {
    if (message.type !== 'coordinator.resign' || refusals > 0) return await send(target, message);
    refusals += 1;
    return [{ type: 'error', id: 'e', from: 'synod', ts: '', code: 'stale_epoch', reason: 'epoch 1 is over' }];
  });
  const ann = candidate(connection, 'ann');
  await pass(10 * WAY_MS);
  ann.finish();
  await pass(10 * WAY_MS);
  expect([refusals, ann.led.length]).toEqual([1, 2]);
  ann.finish();
  await pass(10 * WAY_MS);
  await ann.ended;
  expect(types(connection)).toContain('coordinator.resigned');
});

it('that is stopped leaves, whether it leads or stands', async () => {
  const connection = new LocalConnection();
  const ann = candidate(connection, 'ann');
  await pass(10 * WAY_MS);
  const bob = candidate(connection, 'bob');
  await pass(10 * WAY_MS);
  bob.stop.abort();
  await pass(10 * WAY_MS);
  await bob.ended;
  expect(connection.view('candidate_count')).toBe(1);
  ann.stop.abort();
  await pass(10 * WAY_MS);
  await ann.ended;
  expect(ann.led[0]?.signal.aborted).toBe(true);
  expect(connection.view('status')).toBe('vacant');
});

it('that is stopped leaves, also where three heartbeats are no whole number of milliseconds', async () => {
  const connection = new LocalConnection();
  const ann = candidate(connection, 'ann', 0.7);
  await pass(10 * WAY_MS);
  ann.stop.abort();
  await pass(10 * WAY_MS);
  await ann.ended;
  expect(connection.view('status')).toBe('vacant');
});

it('that is stopped while it is cut off ends soon, whatever it waits for', async () => {
  const connection = new LocalConnection();
  const leader = candidate(connection, 'ann');
  await pass(10 * WAY_MS);
  const waiter = candidate(connection, 'bob');
  await pass(10 * WAY_MS);
  for (const agent of ['ann', 'bob', 'cem']) connection.cut(agent);
  const newcomer = candidate(connection, 'cem');
  await pass(10 * WAY_MS);
  // Elected, and cut off before its first heartbeat.
  const elected = new LocalConnection();
  const { send } = elected;
  vi.spyOn(elected, 'send').mockImplementation(async (target, message) => {
    if (message.type === 'coordinator.heartbeat') elected.cut('dee');
    return await send(target, message);
  });
  const cutOff = candidate(elected, 'dee');
  await pass(10 * WAY_MS);
  const all = [leader, waiter, newcomer, cutOff];
  for (const { stop } of all) stop.abort();
  const ended = Promise.all(all.map(async (each) => await each.ended)).then(() => 'ended');
  const late = new Promise((resolve) => setTimeout(resolve, LAPSE_MS - 1, 'not ended'));
  await pass(LAPSE_MS);
  expect(await Promise.race([ended, late])).toBe('ended');
});

it('refuses a bad heartbeat or role by the name of the field', async () => {
  const connection = new LocalConnection();
  const run = async () => undefined;
  await expect(coordinate(connection, 'ann', 'lab', 'main', run, { heartbeatSeconds: 301 })).rejects.toThrow(
    /heartbeat_seconds/,
  );
  await expect(coordinate(connection, 'ann', 'lab', '', run)).rejects.toBeInstanceOf(SynodError);
  expect(connection.sent).toEqual([]);
});

it('receives directives in order with their epochs, and drops those of an older one', () => {
  const received: Directive[] = [];
  let listener: Listener | undefined;
  const connection: ElectionConnection = {
    send: async () => [],
    readerOf: () => ({ listen: (each) => ((listener = each), () => undefined) }),
  };
  onDirective(connection, 'ann', 'lab', 'main', (directive) => received.push(directive), { epoch: 2 });
  const say = (seq: number, epoch: number, type = 'coordinator.directive') =>
    listener?.onEvent({
      seq,
      envelope: { type, id: `m${seq}`, from: 'bob', ts: '', epoch, directive: seq, coordinator: 'x' },
    });
  say(1, 1);
  say(2, 2);
  say(3, 3, 'coordinator.elected');
  say(4, 2);
  say(5, 3);
  say(6, 4);
  say(7, 3);
  expect(received).toEqual(
    [2, 5, 6].map((seq) => ({ seq, epoch: seq === 2 ? 2 : seq - 2, from: 'bob', directive: seq })),
  );
});
