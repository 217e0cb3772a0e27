import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { PATIENCE_MS, withPatience } from './context.ts';
import { unavailable } from './errors.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const late = () => unavailable('come again');

it('gives up, with what was asked for, what takes too long', async () => {
  const signals: AbortSignal[] = [];
  const call = withPatience(async (givenUp) => {
    signals.push(givenUp);
    return await new Promise<string>(() => undefined);
  }, late).catch(String);
  await vi.advanceTimersByTimeAsync(PATIENCE_MS - 1);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  await vi.advanceTimersByTimeAsync(1);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  expect(await call).toContain('come again');
});

it('gives up nothing that has been answered', async () => {
  const signals: AbortSignal[] = [];
  const answer = await withPatience(async (givenUp) => {
    signals.push(givenUp);
    return 'here';
  }, late);
  await vi.advanceTimersByTimeAsync(2 * PATIENCE_MS);
  expect([answer, signals.map(({ aborted }) => aborted)]).toEqual(['here', [false]]);
});
