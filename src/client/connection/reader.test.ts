import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { Reader } from './reader.ts';
import type { Transport } from '../transport/transport.ts';

it('leaves nothing behind for the end of a process once nobody listens, and ends with it while somebody does', async () => {
  const closing = new AbortController();
  const never = async (_: string, __: unknown, signal: AbortSignal): Promise<never> =>
    await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('ended'))));
  const notAsked = (): Promise<never> => Promise.reject(new Error('not asked'));
  const transport: Transport = { request: notAsked, view: notAsked, receive: never, next: never };
  let idle = 0;
  const reader = new Reader(transport, 'synod:lab:room', 'r', closing.signal, () => (idle += 1));
  const listener = { agent: 'ann', onEvent: () => undefined, onGap: () => undefined };
  const stop = reader.listen(listener, 0);
  expect(getEventListeners(closing.signal, 'abort')).toHaveLength(1);
  stop();
  await expect.poll(() => idle).toBe(1);
  expect(getEventListeners(closing.signal, 'abort')).toHaveLength(0);
  reader.listen(listener, 0);
  closing.abort();
  await expect.poll(() => idle).toBe(2);
});
