import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Envelope } from '../../envelope/envelope.ts';
import { confirmed, termOf, type Term } from './term.ts';

const LEASE_MS = 2_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] }));
afterEach(() => void vi.useRealTimers());

const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();
const envelope = (type: string, fields: { [field: string]: string | number } = {}): Envelope => ({
  type,
  id: 'r-1',
  from: 'synod',
  ts: at(0),
  ...fields,
});
const renewed = () => [envelope('lock.renewed', { lease_seconds: LEASE_MS / 1_000, lease_expires_at: at(LEASE_MS) })];
const refusal = envelope('error', { code: 'not_holder', reason: 'l-1 has expired' });
const from = (sentAt: number): Term => ({ leaseMs: LEASE_MS, endsAt: sentAt + LEASE_MS });

it('lasts from when it was asked for, for as long as it had left when it was answered', () => {
  const grant = envelope('lock.granted', { lease_seconds: 2, lease_expires_at: at(2_000) });
  expect(termOf(grant, 500)).toEqual({ leaseMs: 2_000, endsAt: 2_500 });
  // The very lock that another process of the agent holds already.
  expect(termOf({ ...grant, ts: at(1_600) }, 500)).toEqual({ leaseMs: 2_000, endsAt: 900 });
  expect(termOf(envelope('coordinator.alive'), 500, 30_000)).toEqual({ leaseMs: 30_000, endsAt: 30_500 });
  expect(termOf({ ...grant, ts: '' }, 500)).toEqual({ leaseMs: 2_000, endsAt: 2_500 });
});

it('needs no confirmation while more than half of it is left', async () => {
  const renew = vi.fn<() => Promise<Envelope[]>>();
  const term = from(performance.now());
  await vi.advanceTimersByTimeAsync(LEASE_MS / 2 - 1);
  expect(await confirmed(term, renew)).toBe(term);
  expect(renew).not.toHaveBeenCalled();
});

it('is confirmed by a renewal, and counts from that, where half of it may be over', async () => {
  const term = from(performance.now());
  await vi.advanceTimersByTimeAsync(20_000);
  const sentAt = performance.now();
  const answered = confirmed(term, async () => {
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    return renewed();
  });
  await vi.advanceTimersByTimeAsync(1_500);
  expect(await answered).toEqual(from(sentAt));
});

it('is not begun where the renewal is refused, also after one that was answered too late', async () => {
  const term = from(performance.now() - LEASE_MS);
  expect(await confirmed(term, async () => [refusal])).toEqual({ refused: refusal });
  let renewals = 0;
  const answered = confirmed(term, async () => {
    renewals += 1;
    if (renewals > 1) return [refusal];
    await new Promise((resolve) => setTimeout(resolve, LEASE_MS));
    return renewed();
  });
  await vi.advanceTimersByTimeAsync(LEASE_MS);
  expect(await answered).toEqual({ refused: refusal });
  expect(renewals).toBe(2);
});
