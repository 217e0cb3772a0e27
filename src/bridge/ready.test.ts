import { Writable } from 'node:stream';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { standInHub, type StandIn } from '../client/hub.fixture.ts';
import { unlessAborted } from '../client/timing/timing.ts';
import { HUB_PATHS } from '../client/transport/hubTransport.ts';
import type { ChatPage } from './adapter.ts';
import { consoleAdapter } from './adapters/console.ts';
import { runBridge } from './bridge.ts';
import type { BridgeOptions } from './options.ts';
import { People } from './people/list.ts';

const request = z.object({
  messages: z.array(z.object({ type: z.string(), id: z.string(), from: z.string(), heard: z.string().optional() })),
});
const place = { after: 0, part: 0, whole: '' };

/** A ledger that takes all that it is sent, and the room's own messages, which it refuses for good where they are posts. */
let standIn: StandIn;
let order: string[];
let pages: ((page: ChatPage) => void)[];
let stop: AbortController;
let ended: Promise<void> | undefined;

beforeEach(async () => {
  order = [];
  pages = [];
  stop = new AbortController();
  ended = undefined;
  standIn = await standInHub((path, call, response) => {
    if (path === HUB_PATHS.stream) return response.flushHeaders();
    if (path === HUB_PATHS.view) return response.end(JSON.stringify({ view: null }));
    const { messages } = request.parse(call);
    if (messages.some(({ type }) => type === 'room.post')) {
      response.statusCode = 400;
      return response.end(JSON.stringify({ error: { code: 'other', message: 'broken' } }));
    }
    const replies = messages.map(({ type, id, from, heard }) => {
      if (heard !== undefined) order.push(`read to ${heard}`);
      const reply = { id: `r-${id}`, from: 'synod', to: from, ts: '' };
      return type === 'bridge.take'
        ? [{ ...reply, type: 'bridge.taken', epoch: 1, lease_seconds: 60, place }]
        : [{ ...reply, type: 'bridge.renewed' }];
    });
    response.end(JSON.stringify({ replies }));
  });
});
afterEach(async () => {
  stop.abort();
  await ended;
  await standIn.stop();
});

/** Runs a bridge at a chat whose pages the test gives. */
function run(options: Partial<BridgeOptions>): void {
  const adapter = {
    ...consoleAdapter({ out: new Writable({ write: (_chunk, _encoding, done) => done() }) }),
    pace: { busy: 0, quiet: 1 },
    readForward: async (cursor: string | undefined, signal?: AbortSignal) => {
      order.push(`reads after ${cursor ?? 'nothing'}`);
      return await unlessAborted(new Promise<ChatPage>((resolve) => pages.push(resolve)), signal);
    },
  };
  ended = runBridge(
    { client: standIn.client, room: 'lab', adapter, leaseSeconds: 60, onReady: () => order.push('ready'), ...options },
    stop.signal,
  );
}
const page = async (answer: ChatPage): Promise<void> => {
  await vi.waitUntil(() => pages.length > 0, { timeout: 60_000 });
  pages.shift()?.(answer);
};
const reached = async (line: string): Promise<void> => {
  await vi.waitUntil(() => order.includes(line), { timeout: 60_000 });
};
const says = (id: string, text: string, cursor: string): ChatPage => ({
  messages: [{ id, author: 'ann', text }],
  cursor,
});

it('is ready once it is fixed from where on the chat is read, and not before', async () => {
  run({ onMessage: async () => undefined });
  await page({ messages: [], cursor: 'c1' });
  await reached('reads after c1');
  expect(order).toEqual(['reads after nothing', 'read to c1', 'ready', 'reads after c1']);
});

it('is ready where nothing is read', async () => {
  run({});
  await reached('ready');
  expect(order).toEqual(['ready']);
});

it('goes on past a message, a note and a ready that its callbacks fail at', async () => {
  const notes: string[] = [];
  const received: string[] = [];
  run({
    onReady: () => {
      throw new Error('at ready');
    },
    onNote: (note) => {
      notes.push(note);
      throw new Error('at a note');
    },
    onMessage: async ({ text }) => {
      received.push(text);
      if (text === 'one') throw new Error('cannot');
    },
  });
  await page({ messages: [], cursor: 'c1' });
  await page(says('m1', 'one', 'c2'));
  await page(says('m2', 'two', 'c3'));
  await reached('read to c3');
  expect(received).toEqual(['one', 'two']);
  expect(notes).toContain('onMessage failed at message m1: cannot; the next one comes');
});

it('goes on past a message that cannot be brought to the room', async () => {
  const notes: string[] = [];
  const people = People.read({ people: { ann: { agent: 'ann' } } });
  run({ people, onNote: (note) => notes.push(note) });
  await page({ messages: [], cursor: 'c1' });
  await page(says('m1', 'one', 'c2'));
  await reached('read to c2');
  expect(notes.join('\n')).toContain('message m1 of the chat failed: broken; the next one comes');
});
