import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Envelope } from '../../envelope/envelope.ts';
import { Lease, LeaseLost } from './lease.ts';

const LEASE_SECONDS = 12;

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] }));
afterEach(() => void vi.useRealTimers());

const envelope = (type: string, fields: { [field: string]: string | number } = {}): Envelope => ({
  type,
  id: 'r-1',
  from: 'synod',
  ts: '',
  ...fields,
});
const renewed = async () => [envelope('task.renewed', { lease_seconds: LEASE_SECONDS })];

type Renew = () => Promise<readonly Envelope[]>;
const leaseFrom = (askedAt: number, renew: Renew) =>
  new Lease({ leaseMs: LEASE_SECONDS * 1_000, endsAt: askedAt + LEASE_SECONDS * 1_000 }, renew);

function lossOf(lease: Lease): string | undefined {
  const reason: unknown = lease.signal.reason;
  return reason instanceof LeaseLost ? reason.message : undefined;
}

it('renews several times in a lease, and so keeps it', async () => {
  const renew = vi.fn<typeof renewed>(renewed);
  const lease = leaseFrom(performance.now(), renew);
  await vi.advanceTimersByTimeAsync(LEASE_SECONDS * 1_000);
  // Every quarter of the lease, a half more or less.
  expect(renew.mock.calls.length).toBeGreaterThanOrEqual(2);
  expect(renew.mock.calls.length).toBeLessThanOrEqual(8);
  await vi.advanceTimersByTimeAsync(20 * LEASE_SECONDS * 1_000);
  expect(lease.lost).toBe(false);
  lease.close();
});

it('is lost when a renewal is refused', async () => {
  const lease = leaseFrom(performance.now(), async () => [
    envelope('error', { code: 'stale_token', reason: 'attempt 1 is over' }),
  ]);
  await vi.advanceTimersByTimeAsync(LEASE_SECONDS * 1_000 * 0.5);
  expect(lease.signal.aborted).toBe(true);
  expect(lossOf(lease)).toBe('the renewal was refused: stale_token: attempt 1 is over');
});

it('has run out where a renewal is refused after its end, whichever is noticed first', async () => {
  let refuse: (answer: Envelope[]) => void = () => undefined;
  const lease = leaseFrom(performance.now(), () => new Promise((resolve) => (refuse = resolve)));
  await vi.advanceTimersByTimeAsync(LEASE_SECONDS * 1_000 * 0.5);
  // The clock goes on, and the timers are late.
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + LEASE_SECONDS * 1_000);
  refuse([envelope('error', { code: 'stale_token', reason: 'attempt 1 is over' })]);
  await vi.advanceTimersByTimeAsync(0);
  expect(lossOf(lease)).toBe('the lease has run out');
  vi.restoreAllMocks();
});

it('is lost when it runs out while a renewal gets no answer', async () => {
  const lease = leaseFrom(performance.now(), () => new Promise(() => undefined));
  await vi.advanceTimersByTimeAsync(LEASE_SECONDS * 1_000 - 1);
  expect(lease.signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(lossOf(lease)).toBe('the lease has run out');
});

it('is counted from when it was asked for', async () => {
  const askedAt = performance.now();
  await vi.advanceTimersByTimeAsync(5_000);
  const lease = leaseFrom(askedAt, () => new Promise(() => undefined));
  await vi.advanceTimersByTimeAsync(LEASE_SECONDS * 1_000 - 5_000 - 1);
  expect(lease.signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(lease.signal.aborted).toBe(true);
});

it('is counted from when its renewal was asked for', async () => {
  let renewals = 0;
  let askedAt = Number.NaN;
  const lease = leaseFrom(performance.now(), async () => {
    renewals += 1;
    if (renewals > 1) return await new Promise(() => undefined);
    askedAt = performance.now();
    // The answer comes late.
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    return await renewed();
  });
  while (Number.isNaN(askedAt)) await vi.advanceTimersByTimeAsync(100);
  await vi.advanceTimersByTimeAsync(askedAt + LEASE_SECONDS * 1_000 - performance.now() - 1);
  expect(lease.signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(lease.signal.aborted).toBe(true);
});

it('is lost by the clock where timers are late, as after a stop of the process', () => {
  const lease = leaseFrom(performance.now(), renewed);
  const now = performance.now();
  vi.spyOn(performance, 'now').mockReturnValue(now + LEASE_SECONDS * 1_000);
  expect(lease.lost).toBe(true);
  expect(lossOf(lease)).toBe('the lease has run out');
});

it('outlives a renewal that failed', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const renew = vi.fn<typeof renewed>(renewed).mockRejectedValueOnce(new Error('no way through'));
  const lease = leaseFrom(performance.now(), renew);
  await vi.advanceTimersByTimeAsync(3 * LEASE_SECONDS * 1_000);
  expect(warned).toHaveBeenCalledOnce();
  expect(lease.lost).toBe(false);
  lease.close();
});

it('neither renews nor is lost once it is closed', async () => {
  const renew = vi.fn<typeof renewed>(renewed);
  const lease = leaseFrom(performance.now(), renew);
  lease.close();
  await vi.advanceTimersByTimeAsync(10 * LEASE_SECONDS * 1_000);
  expect(renew).not.toHaveBeenCalled();
  expect(lease.lost).toBe(false);
});

it('renews at once when it is checked, and once more where that was asked for meanwhile', async () => {
  const renew = vi.fn<typeof renewed>(renewed);
  const lease = leaseFrom(performance.now(), renew);
  await Promise.all([lease.check(), lease.check(), lease.check()]);
  expect(renew).toHaveBeenCalledTimes(2);
  expect(lease.lost).toBe(false);
  renew.mockResolvedValue([envelope('error', { code: 'not_holder', reason: 'l-1 is held by nobody' })]);
  await lease.check();
  expect(lossOf(lease)).toBe('the renewal was refused: not_holder: l-1 is held by nobody');
});

it('says whether it was this clock that ended it', async () => {
  const lease = leaseFrom(performance.now(), () => new Promise(() => undefined));
  await vi.advanceTimersByTimeAsync(LEASE_SECONDS * 1_000);
  expect([lease.lost, lease.ranOut]).toEqual([true, true]);
  const other = leaseFrom(performance.now(), renewed);
  other.lose('the task was cancelled');
  expect([other.lost, other.ranOut]).toEqual([true, false]);
});
