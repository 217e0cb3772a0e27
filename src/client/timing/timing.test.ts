import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { RECONNECT } from '../../dev/connect.ts';
import { backoff, withGrace, unlessAborted, until } from './timing.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = async () => await new Promise<string>(() => undefined);
const pass = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms));

it('gives up what is not done five seconds after the signal, and aborts its signal', async () => {
  const stop = new AbortController();
  const ends: AbortSignal[] = [];
  const work = async (end: AbortSignal) => {
    ends.push(end);
    return await never();
  };
  const results: string[] = [];
  for (const [name, ms] of [
    ['soon', undefined],
    ['late', 9_000],
  ] as const)
    void withGrace(stop.signal, work, ms).then((value) => results.push(`${name}: ${value}`));
  await pass(60_000);
  expect([results, ends.map(({ aborted }) => aborted)]).toEqual([[], [false, false]]);
  stop.abort(new Error('enough'));
  await pass(5_000);
  expect([results, ends.map(({ aborted }) => aborted)]).toEqual([['soon: undefined'], [true, false]]);
  expect(String(ends[0]?.reason)).toBe('Error: enough');
  await pass(4_000);
  expect(results).toEqual(['soon: undefined', 'late: undefined']);
  // Stopped already, it has as long from now on.
  void withGrace(stop.signal, work).then((value) => results.push(`again: ${value}`));
  await pass(4_999);
  expect(results).toHaveLength(2);
  await pass(1);
  expect(results).toContain('again: undefined');
});

it('is what the work comes to where that is sooner', async () => {
  const stop = AbortSignal.abort(new Error('enough'));
  expect(await withGrace(stop, async () => 'done')).toBe('done');
  await expect(withGrace(stop, async () => await Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(await unlessAborted(Promise.resolve('done'), undefined)).toBe('done');
  await expect(unlessAborted(never(), stop)).rejects.toThrow('enough');
  expect(await until(never(), stop)).toBeUndefined();
  expect(vi.getTimerCount()).toBe(0);
});

it('lets many wait on one signal, and leaves nothing on it', async () => {
  vi.useRealTimers();
  const warnings: string[] = [];
  const warned = (warning: Error) => void warnings.push(String(warning));
  process.on('warning', warned);
  const stop = new AbortController();
  const ends: ((value: string) => void)[] = [];
  const work = async () => await new Promise<string>((resolve) => ends.push(resolve));
  const all = Array.from({ length: 20 }, async () => await unlessAborted(withGrace(stop.signal, work), stop.signal));
  for (const end of ends) end('done');
  expect(new Set(await Promise.all(all))).toEqual(new Set(['done']));
  expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', warned);
  expect(warnings).toEqual([]);
});

it('is back at the latest two seconds after an outage: the longest pause to connect, and then the longest one to call', () => {
  // What gRPC adds to its pauses at random.
  const connecting = RECONNECT['grpc.max_reconnect_backoff_ms'] * 1.2;
  const random = vi.spyOn(Math, 'random').mockReturnValue(1 - Number.EPSILON);
  const longest = (contended: boolean) => Math.max(...Array.from({ length: 100 }, (_, i) => backoff(i, contended)));
  expect(connecting + longest(false)).toBeGreaterThan(1_000);
  expect(connecting + longest(false)).toBeLessThanOrEqual(2_000);
  expect(longest(true)).toBeCloseTo(3_000);
  random.mockRestore();
});
