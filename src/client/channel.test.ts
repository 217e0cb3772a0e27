import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Base } from '../envelope/envelope.ts';
import { Channel } from './channel.ts';

const target = { room: 'lab', workflowType: 'room', workflowId: 'synod:lab:room' } as const;
const say = (id: string): Base => ({ type: 'room.post', id, from: 'ann', ts: '' });

let channel: Channel;
let batches: string[][];
/** Answers the batch that is under way. */
let answer: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  batches = [];
  const notAsked = () => Promise.reject(new Error('not asked'));
  const request = async (_: unknown, messages: readonly Base[]) => {
    batches.push(messages.map(({ id }) => id));
    await new Promise<void>((resolve) => (answer = resolve));
    return messages.map(() => []);
  };
  const transport = { request, receive: notAsked, next: notAsked, view: notAsked };
  channel = new Channel(transport, target, new AbortController().signal, () => undefined);
});
afterEach(() => void vi.useRealTimers());

/** Sends so many at once; resolves when they are on their way. */
async function together(count: number, name: string): Promise<void> {
  for (let i = 0; i < count; i++) void channel.send(say(`${name}${i}`));
  await vi.advanceTimersByTimeAsync(0);
}
async function answered(): Promise<void> {
  answer();
  await vi.advanceTimersByTimeAsync(0);
}
const sizes = () => batches.map(({ length }) => length);

describe('the way to a workflow', () => {
  it('lets who comes back of a crowd wait for the others, as long as it takes them, and for no longer', async () => {
    await together(10, 'a');
    expect(sizes()).toEqual([10]);
    await answered();
    await together(1, 'b');
    await vi.advanceTimersByTimeAsync(5);
    expect(sizes()).toEqual([10]);
    await together(9, 'c');
    expect(sizes()).toEqual([10, 10]);
    await answered();
    await together(3, 'd');
    await vi.advanceTimersByTimeAsync(20);
    expect(sizes()).toEqual([10, 10, 3]);
  });

  it('keeps nobody waiting for a few', async () => {
    await together(7, 'a');
    await answered();
    await together(1, 'b');
    expect(sizes()).toEqual([7, 1]);
  });

  it('takes what comes while a batch is under way with the next one', async () => {
    await together(1, 'a');
    await together(4, 'b');
    await answered();
    expect(batches).toEqual([['a0'], ['b0', 'b1', 'b2', 'b3']]);
  });
});
