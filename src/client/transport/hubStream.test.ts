import { beforeEach, describe, expect, it } from 'vitest';
import { HubFault } from './hubFault.ts';
import { HubStream } from './hubStream.ts';

const never = new AbortController().signal;
const soon = { limit: 10, waitMs: 10 };
const later = { limit: 10, waitMs: 10_000 };
const event = (seq: number) => {
  const envelope = { type: 'room.post', id: `m${seq}`, from: 'ann', ts: '', text: `日 ${seq}` };
  return `id: ${seq}\ndata: ${JSON.stringify({ seq, envelope })}\n\n`;
};

let hub: ReadableStreamDefaultController<Uint8Array>;
let stream: HubStream;
let closings: string[];

/** What the hub sends, in pieces of so many bytes. */
function sends(text: string, size = 7): void {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) hub.enqueue(bytes.slice(at, at + size));
}
const seqs = (page: { events: readonly { seq: number }[] }) => page.events.map(({ seq }) => seq);

beforeEach(() => {
  const own: string[] = [];
  closings = own;
  const body = new ReadableStream<Uint8Array>({ start: (controller) => void (hub = controller) });
  stream = new HubStream(
    3,
    () => Promise.resolve(new Response(body)),
    () => void own.push('closed'),
  );
});

describe('the stream of a hub', () => {
  it('is handed out in pages, however its bytes come', async () => {
    sends(`retry: 1000\nid: 3\nevent: ready\ndata: {"next":3}\n\n${event(4)}${event(6)}`);
    const first = await stream.next({ ...later, limit: 1 }, never);
    expect(first).toMatchObject({ events: [{ seq: 4, envelope: { text: '日 4' } }], next: 4, truncated: false });
    expect(seqs(await stream.next(later, never))).toEqual([6]);
    expect(stream.after).toBe(6);
  });

  it('passes over what is for others, by the numbers alone', async () => {
    sends(event(4) + 'id: 9\n\n');
    expect(seqs(await stream.next(later, never))).toEqual([4]);
    await expect.poll(async () => await stream.next(soon, never)).toEqual({ events: [], next: 9, truncated: false });
    sends('id: 12\n\n');
    await expect.poll(async () => (await stream.next(soon, never)).next).toBe(12);
  });

  it('reports a gap in its place', async () => {
    sends(`${event(4)}id: 8\nevent: gap\ndata: {"next":8}\n\n${event(9)}`, 1_000);
    expect(await stream.next(later, never)).toMatchObject({ next: 4, truncated: false });
    expect(await stream.next(later, never)).toEqual({ events: [], next: 8, truncated: true });
    expect(seqs(await stream.next(later, never))).toEqual([9]);
  });

  it('loses nothing to a wait that was called off', async () => {
    const stop = new AbortController();
    const waiting = stream.next(later, stop.signal);
    stop.abort();
    await expect(waiting).rejects.toThrow('aborted');
    sends(event(4));
    expect(seqs(await stream.next(later, never))).toEqual([4]);
  });

  it('hands out what has come before it reports that it has broken', async () => {
    sends(event(4));
    await expect.poll(() => stream.next(later, never).then(seqs)).toEqual([4]);
    sends(event(5), 1_000);
    hub.close();
    expect(seqs(await stream.next(later, never))).toEqual([5]);
    await expect(stream.next(later, never)).rejects.toBeInstanceOf(HubFault);
    await expect(stream.next(later, never)).rejects.toThrow('has ended');
  });

  it('reports what the hub has refused, and what it sent that is no event', async () => {
    const refused = new HubFault('no such workflow', { status: 404, code: 'unknown' });
    const other = new HubStream(
      0,
      () => Promise.reject(refused),
      () => undefined,
    );
    await expect(other.next(later, never)).rejects.toBe(refused);
    sends('data: {"seq":"x"}\n\n');
    await expect(stream.next(later, never)).rejects.toBeInstanceOf(HubFault);
  });

  it('is closed once nobody asks any more', async () => {
    expect(await stream.next({ limit: 1, waitMs: 0 }, never)).toMatchObject({ events: [] });
    expect(stream.closed).toBe(false);
    await expect.poll(() => stream.closed).toBe(true);
    expect(closings).toEqual(['closed']);
  });
});
