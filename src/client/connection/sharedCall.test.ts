import { expect, it } from 'vitest';
import { Shared } from './sharedCall.ts';

/** Calls that end when a test ends them. */
function calls() {
  const ends: ((value: number) => void)[] = [];
  const shared = new Shared(() => new Promise<number>((resolve) => ends.push(resolve)));
  return { ends, shared };
}

it('is one call for all who ask before it begins, and one more for all who ask while it runs', async () => {
  const { ends, shared } = calls();
  const first = [shared.next(), shared.next()];
  await expect.poll(() => ends.length).toBe(1);
  const second = [shared.next(), shared.next(), shared.next()];
  ends[0]?.(1);
  expect(await Promise.all(first)).toEqual([1, 1]);
  await expect.poll(() => ends.length).toBe(2);
  ends[1]?.(2);
  expect(await Promise.all(second)).toEqual([2, 2, 2]);
  expect([ends.length, shared.idle]).toEqual([2, true]);
});

it('fails for those who share it, and not for the next', async () => {
  let count = 0;
  const shared = new Shared(() => (++count === 1 ? Promise.reject(new Error('no')) : Promise.resolve(count)));
  await Promise.all([shared.next(), shared.next()].map((each) => expect(each).rejects.toThrow('no')));
  expect(await shared.next()).toBe(2);
});

it('is not waited for once the signal has fired', async () => {
  const { ends, shared } = calls();
  const stop = new AbortController();
  const [stopped, waiting] = [shared.next(stop.signal), shared.next()];
  stop.abort(new Error('enough'));
  await expect(stopped).rejects.toThrow('enough');
  await expect(shared.next(stop.signal)).rejects.toThrow('enough');
  await expect.poll(() => ends.length).toBe(1);
  ends[0]?.(7);
  expect(await waiting).toBe(7);
});
