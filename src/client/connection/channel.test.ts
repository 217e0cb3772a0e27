import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Base } from '../../envelope/envelope.ts';
import { Channel } from './channel.ts';
import { HubFault } from '../transport/hubFault.ts';

const target = { room: 'lab', workflowType: 'barrier', workflowId: 'synod:lab:b', opening: 'barrier.open' } as const;
const say = (id: string, type = 'barrier.checkin'): Base => ({ type, id, from: 'ann', ts: '' });

let channel: Channel;
let batches: string[][];
/** How often the channel had nothing more to carry. */
let idle: number;
/** Answers the batch that is under way, or cuts it off. */
let answer: () => void;
let cut: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  batches = [];
  idle = 0;
  const notAsked = () => Promise.reject(new Error('not asked'));
  const request = async (_: unknown, messages: readonly Base[]) => {
    batches.push(messages.map(({ id }) => id));
    await new Promise<void>((resolve, reject) => {
      answer = resolve;
      cut = () => reject(new HubFault('no answer'));
    });
    return messages.map(() => []);
  };
  const transport = { request, receive: notAsked, next: notAsked, view: notAsked };
  channel = new Channel(
    transport,
    target,
    new AbortController().signal,
    () => undefined,
    () => (idle += 1),
  );
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
  it('holds the first message after a large batch back until the others are there, at most for 20 ms', async () => {
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

  it('holds nothing back after a small batch', async () => {
    await together(7, 'a');
    await answered();
    await together(1, 'b');
    expect(sizes()).toEqual([7, 1]);
  });

  it('puts at most 1 MiB of JSON into a request, in bytes of UTF-8, and at most 512 messages', async () => {
    // With its comma 16 KiB: 64 of them and the brackets are two bytes too many.
    const large = (i: number) => {
      const message = { ...say(`large${100 + i}`), note: '' };
      const rest = 16 * 1024 - 1 - Buffer.byteLength(JSON.stringify(message));
      return { ...message, note: `${'ü'.repeat(Math.floor(rest / 2))}${'x'.repeat(rest % 2)}` };
    };
    for (let i = 0; i < 100; i++) void channel.send(large(i));
    await vi.advanceTimersByTimeAsync(0);
    await answered();
    await vi.advanceTimersByTimeAsync(20);
    expect(sizes()).toEqual([63, 37]);
    await answered();
    await together(513, 'small');
    await answered();
    await vi.advanceTimersByTimeAsync(20);
    expect(sizes()).toEqual([63, 37, 512, 1]);
  });

  it('takes what comes while a batch is under way with the next one', async () => {
    await together(1, 'a');
    await together(4, 'b');
    await answered();
    expect(batches).toEqual([['a0'], ['b0', 'b1', 'b2', 'b3']]);
    expect(idle).toBe(0);
    await answered();
    expect(idle).toBe(1);
  });

  it('gives up at once what its sender gives up, and does not send it again', async () => {
    const stop = new AbortController();
    const [sent, waiting] = [channel.send(say('sent'), stop.signal), vi.advanceTimersByTimeAsync(0)];
    await waiting;
    const unsent = channel.send(say('unsent'), stop.signal);
    const ends = [sent, unsent].map(async (each) => await expect(each).rejects.toThrow('enough'));
    stop.abort(new Error('enough'));
    await Promise.all(ends);
    const other = channel.send(say('other'));
    cut();
    await vi.waitFor(() => expect(batches).toEqual([['sent'], ['other']]));
    answer();
    expect(await other).toEqual([]);
    expect(idle).toBe(1);
  });

  it('sends again what somebody still waits for, with what has been given up beside it', async () => {
    const stop = new AbortController();
    const gone = channel.send(say('gone'), stop.signal).catch(String);
    const kept = channel.send(say('kept'));
    await vi.advanceTimersByTimeAsync(0);
    stop.abort(new Error('enough'));
    expect(await gone).toBe('Error: enough');
    cut();
    await vi.waitFor(() => expect(batches).toHaveLength(2));
    expect(batches[1]).toEqual(['gone', 'kept']);
    answer();
    expect(await kept).toEqual([]);
  });

  it('sends what opens a barrier before what needs it open, and all else in order', async () => {
    for (const id of ['a', 'b']) void channel.send(say(id));
    void channel.send(say('open', 'barrier.open'));
    void channel.send(say('rest', 'barrier.roster'));
    await vi.advanceTimersByTimeAsync(0);
    for (const id of ['c', 'd']) void channel.send(say(id));
    void channel.send(say('again', 'barrier.open'));
    await answered();
    expect(batches).toEqual([
      ['open', 'a', 'b', 'rest'],
      ['again', 'c', 'd'],
    ]);
    await answered();
  });
});
