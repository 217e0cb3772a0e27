import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SynodError } from '../../envelope/refusal.ts';
import { LeaseLost } from '../leases/lease.ts';
import type * as timing from '../timing/timing.ts';
import { LocalConnection, LocalManager, locking, WAY_MS } from './lock.fixture.ts';
import { LockDenied } from './lock.ts';

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
    void vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance', 'Date'],
    }),
);
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Long enough for some messages to and fro. */
const SOON_MS = 10 * WAY_MS;
const pass = async (ms: number = SOON_MS) => void (await vi.advanceTimersByTimeAsync(ms));

function processes() {
  const manager = new LocalManager();
  return { manager, here: new LocalConnection(manager), there: new LocalConnection(manager) };
}
const forced = (lock_id: string) => ({
  type: 'lock.force_release',
  id: `force ${lock_id}`,
  from: 'operator:jo',
  ts: '',
  lock_id,
  reason: 'stuck',
});
const typesOf = ({ sent }: LocalConnection) => sent.map(({ type }) => type);

/** `w` waits for x, which `h` holds, with a lease of 2 s and for longer than anything here. */
async function waiting() {
  const at = processes();
  const h = locking(at.there, 'h', ['x']);
  await pass();
  const w = locking(at.here, 'w', ['x'], { leaseSeconds: 2, waitSeconds: 60 });
  await pass();
  return { ...at, h, w };
}

it('begins nothing by a grant that is over when it is received, and asks anew', async () => {
  const { here, there, h, w } = await waiting();
  here.cut();
  h.finish();
  await pass(3_500);
  const o = locking(there, 'o', ['x']);
  await pass();
  expect(o.runs).toHaveLength(1);
  // The grant and its expiry come in one page.
  here.heal();
  await pass(1_000);
  expect(w.runs).toEqual([]);
  o.finish();
  await pass();
  expect(w.runs).toMatchObject([{ tokens: { x: 4 }, signal: { aborted: false } }]);
  w.finish();
  await pass();
  expect(await w.outcome).toBe('done');
});

it('begins nothing by a grant that was on its way for longer than its lease, before anything says that it is over', async () => {
  const { here, there, h, w } = await waiting();
  here.cut();
  h.finish();
  await pass(3_500);
  const o = locking(there, 'o', ['x']);
  await pass();
  expect(o.runs).toHaveLength(1);
  here.heal(1);
  await pass(1_000);
  expect(w.runs).toEqual([]);
  o.finish();
  await pass();
  expect(w.runs).toMatchObject([{ tokens: { x: 4 } }]);
});

it('begins nothing by a lock that was granted at once and is answered after its end', async () => {
  const { here, there } = processes();
  const w = locking(here, 'w', ['x'], { leaseSeconds: 2 });
  // It is under way already, and its answer comes late.
  await pass(WAY_MS);
  here.cut();
  await pass(3_500);
  const o = locking(there, 'o', ['x']);
  await pass();
  expect(o.runs).toHaveLength(1);
  here.heal();
  await pass(1_000);
  expect(w.runs).toEqual([]);
  o.finish();
  await pass();
  expect(w.runs).toMatchObject([{ tokens: { x: 3 } }]);
});

it('begins nothing by a grant that is received together with its end, however long its lease', async () => {
  const { here, there, manager } = processes();
  const h = locking(there, 'h', ['x']);
  await pass();
  const w = locking(here, 'w', ['x'], { leaseSeconds: 300, waitSeconds: 60 });
  await pass();
  here.cut();
  h.finish();
  await pass();
  expect(manager.request(forced('l-2'))).toMatchObject([{ type: 'lock.accepted' }]);
  here.heal();
  await pass();
  expect(w.runs).toMatchObject([{ lockId: 'l-3' }]);
});

it('begins at once, without asking, what was granted lately', async () => {
  const { here, h, w } = await waiting();
  h.finish();
  await pass();
  expect(w.runs).toHaveLength(1);
  expect(typesOf(here)).toEqual(['lock.request']);
});

it('confirms a grant after a long wait, and so holds it no longer than the server says', async () => {
  const { here, manager, h, w } = await waiting();
  await pass(5_000);
  h.finish();
  await pass();
  expect(w.runs).toHaveLength(1);
  expect(typesOf(here)).toEqual(['lock.request', 'lock.renew']);
  const types = () => manager.log.map(({ envelope: { type } }) => type);
  const lost = new Promise<string[]>((resolve) =>
    w.runs[0]?.signal.addEventListener('abort', () => resolve(types()), { once: true }),
  );
  here.cut();
  await pass(2_000);
  expect(await lost).not.toContain('lock.expired');
  expect(types()).toContain('lock.expired');
});

it('fails with LeaseLost where the release finds that it is held no more, though the body has ended', async () => {
  const { here, manager } = processes();
  const w = locking(here, 'w', ['x']);
  await pass();
  expect(manager.request(forced('l-1'))).toMatchObject([{ type: 'lock.accepted' }]);
  w.finish();
  await pass();
  expect(await w.outcome).toBeInstanceOf(LeaseLost);
});

it('loses at once all that a denial has released, and nothing that was granted after it', async () => {
  const { here, there, manager } = processes();
  locking(there, 'h', ['taken']);
  await pass();
  const names = Array.from({ length: 45 }, (_, i) => `r${i}`);
  const held = names.map((name) => locking(here, 'ann', [name]));
  await pass();
  expect(held.every(({ runs }) => runs.length === 1)).toBe(true);
  const other = new LocalConnection(manager);
  const elsewhere = locking(other, 'ann', ['elsewhere']);
  await pass(1_200);
  const vain = locking(here, 'ann', ['taken'], { waitSeconds: 1 });
  await pass(1_000 + SOON_MS);
  const denial = manager.log.find(({ envelope: { type } }) => type === 'lock.denied')?.envelope;
  expect(denial).toMatchObject({ reason: 'timeout', released_count: 46 });
  const aborted = () => held.filter(({ runs: [first] }) => first?.signal.aborted).length;
  expect(aborted()).toBe(45);
  // Another process of the agent follows the log as well.
  expect(elsewhere.runs[0]?.signal.aborted).toBe(true);
  const later = locking(here, 'ann', ['later']);
  await pass(SOON_MS);
  expect(later.runs[0]?.signal.aborted).toBe(false);
  for (const each of held) each.finish();
  await pass();
  expect(await held[44]?.outcome).toBeInstanceOf(LeaseLost);
  await pass(60_000);
  expect(await vain.outcome).toMatchObject({ name: 'LockDenied', reason: 'timeout', resources: ['taken'] });
});

it('names in its denial all locks that were given up', async () => {
  const { here, there } = processes();
  locking(there, 'h', ['taken']);
  await pass();
  const held = Array.from({ length: 40 }, (_, i) => locking(here, 'ann', [`r${i}`]));
  await pass();
  // The first of three denials has released them.
  const vain = locking(here, 'ann', ['taken'], { waitSeconds: 0.1 });
  await pass(60_000);
  const error = await vain.outcome;
  expect(error).toMatchObject({ name: 'LockDenied', reason: 'timeout', releasedCount: 40 });
  const ids = held.map(({ runs: [first] }) => String(first?.lockId));
  expect(error instanceof LockDenied && error.released.toSorted()).toEqual(ids.toSorted());
  expect(held.every(({ runs: [first] }) => first?.signal.aborted)).toBe(true);
});

it('keeps a shared lock until the last of its users has ended', async () => {
  const { here, manager } = processes();
  const first = locking(here, 'ann', ['x']);
  await pass();
  const second = locking(here, 'ann', ['x']);
  await pass();
  expect(second.runs[0]?.lockId).toBe(first.runs[0]?.lockId);
  first.finish();
  await pass();
  expect(await first.outcome).toBe('done');
  expect(manager.view()).toMatchObject({ held: 1 });
  expect(typesOf(here)).not.toContain('lock.release');
  second.finish();
  await pass();
  expect(await second.outcome).toBe('done');
  expect(manager.view()).toMatchObject({ held: 0 });
});

it('still releases what has run out by its own clock alone', async () => {
  const { here, manager } = processes();
  const w = locking(here, 'w', ['x'], { leaseSeconds: 2 });
  await pass();
  // The server has given time back: it is held there for longer than this process knows.
  here.cut();
  const longer = setInterval(() => manager.request({ ...renewal('l-1'), from: 'w' }), 500);
  await pass(2_000);
  clearInterval(longer);
  expect(w.runs[0]?.signal.aborted).toBe(true);
  w.finish();
  here.heal();
  await pass();
  expect(await w.outcome).toBeInstanceOf(LeaseLost);
  expect(here.sent.filter(({ type }) => type === 'lock.release')).toHaveLength(1);
  expect(manager.view()).toMatchObject({ held: 0 });
});

let renewals = 0;
const renewal = (lockId: string) => ({ type: 'lock.renew', id: `again-${(renewals += 1)}`, ts: '', lock_id: lockId });

it('cancels whatever else than a grant or a denial ends its wait', async () => {
  vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const refusal = (id: string) => [
    {
      type: 'error',
      id: 'e',
      from: 'synod',
      ts: '',
      in_reply_to: id,
      code: 'idempotency_conflict',
      reason: 'forgotten',
    },
  ];
  const refused = await waiting();
  refused.here.answer = ({ type, id }) => (type === 'lock.request' ? refusal(id) : undefined);
  await pass(23_000);
  expect(await refused.w.outcome).toBeInstanceOf(SynodError);

  const taken = await waiting();
  taken.here.answer = ({ type, id }) =>
    type === 'lock.request'
      ? [{ type: 'lock.denied', id: 'e', from: 'synod', ts: '', in_reply_to: id, reason: 'held' }]
      : undefined;
  await pass(23_000);
  expect(await taken.w.outcome).toMatchObject({ name: 'LockDenied', reason: 'held' });

  const failed = await waiting();
  failed.here.answer = ({ type }) => {
    if (type === 'lock.request') throw new Error('no way');
    return undefined;
  };
  await pass(23_000);
  expect(await failed.w.outcome).toMatchObject({ message: 'no way' });

  const gone = await waiting();
  gone.here.disconnect();
  await pass();
  expect(await gone.w.outcome).toMatchObject({ message: 'disconnected while waiting for a lock' });

  for (const { here, manager } of [refused, taken, failed, gone]) {
    expect(typesOf(here).at(-1)).toBe('lock.cancel');
    expect(manager.view()).toMatchObject({ waiting: 0 });
  }
});
