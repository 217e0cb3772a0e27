import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { matrixAdapter } from '../../src/bridge/adapters/matrix.ts';
import { runBridge } from '../../src/bridge/bridge.ts';
import type { BridgeOptions } from '../../src/bridge/options.ts';
import { Agent } from '../../src/client/index.ts';
import { POSSIBLE_REPEAT } from '../../src/bridge/deliver.ts';
import { numbersIn, numbersOnce, saidIn, talk } from '../bridge/mirrored.ts';
import { FakeMatrix } from '../bridge/fakes/matrix.ts';
import type { Fault } from '../bridge/fakes/server.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { Wire } from '../support/wire.ts';

/** A bridge that runs beside a test, and what it says. */
interface Running {
  readonly notes: string[];
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

describe('the bridge', () => {
  let stack: Stack;
  let chat: FakeMatrix;
  let room = '';
  let rooms = 0;
  const running: Running[] = [];

  beforeAll(async () => {
    stack = await startStack();
  });
  afterAll(() => stack.stop());
  beforeEach(async () => {
    chat = new FakeMatrix();
    await chat.up();
    room = `lab-${(rooms += 1)}`;
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((one) => one.stop()));
    await chat.stop();
  });

  function bridge(options: Partial<BridgeOptions> = {}): Running {
    const stopping = new AbortController();
    const notes: string[] = [];
    const adapter = matrixAdapter({ url: chat.url, room: chat.room, token: chat.token, timeoutMs: 700 });
    const ended = runBridge(
      {
        client: stack.client,
        room,
        adapter,
        intervalMs: 50,
        leaseSeconds: 2,
        onNote: (note) => notes.push(note),
        ...options,
      },
      stopping.signal,
    );
    ended.catch(() => undefined);
    const one = {
      notes,
      ended,
      async stop() {
        stopping.abort();
        await ended.catch(() => undefined);
      },
    };
    running.push(one);
    return one;
  }
  const texts = (): string[] => chat.posts.filter(({ author }) => author === chat.me).map(({ text }) => text);
  const ledger = (): Wire => Wire.ledger(stack.client, room, `matrix:${chat.room}`);
  const posted = async (count: number): Promise<void> => {
    await expect.poll(() => new Set(numbersIn(...texts())).size).toBe(count);
  };

  it('posts every message once, in the order of the room', async () => {
    bridge();
    await talk(stack.client, room, 60, 3);
    await posted(60);
    expect(numbersIn(...texts())).toEqual(await saidIn(stack.client, room, 60));
    expect(texts().length).toBeLessThan(60);
  });

  it('loses nothing and repeats nothing, whatever faults the chat has', async () => {
    const faults: Fault[] = [
      { kind: 'rate-limited', retryAfterMs: 120 },
      { kind: 'rate-limited' },
      { kind: 'error', status: 502, taken: true },
      { kind: 'error', status: 503, taken: false },
      { kind: 'silence', taken: true },
      { kind: 'drop', taken: true },
      { kind: 'drop', taken: false },
      { kind: 'slow', ms: 200 },
    ];
    for (const fault of faults) chat.faults.push(fault, { kind: 'slow', ms: 1 });
    bridge({ intervalMs: 0 });
    await talk(stack.client, room, 12, 2);
    await posted(12);
    expect(chat.faults.length).toBe(0);
    expect(numbersIn(...texts())).toEqual(await saidIn(stack.client, room, 12));
  });

  it('goes on where the one before has stopped, at the next part of a long text', async () => {
    const long = Array.from({ length: 160 }, (_, i) => `word-${i}`).join(' ');
    const narrow = matrixAdapter({ url: chat.url, room: chat.room, token: chat.token, timeoutMs: 700 });
    const adapter = { ...narrow, limits: { characters: 400 } };
    // The second part is on its way when the bridge is to stop.
    chat.faults.push({ kind: 'slow', ms: 1 }, { kind: 'rate-limited', retryAfterMs: 60_000 });
    const first = bridge({ adapter });
    await new Agent(stack.client, 'ann').post(room, long);
    await expect.poll(() => first.notes.join('\n')).toContain('429');
    await first.stop();
    expect(await ledger().view()).toMatchObject({ cursor: 0, part: 1, doubt: { part: 1 } });
    bridge({ adapter });
    await expect.poll(() => texts().join('')).toContain('word-159');
    expect(texts().join('')).toBe(`ann: ${long}`);
    for (const text of texts()) expect(text.length).toBeLessThanOrEqual(400);
  });

  it('has one poster of two, and the other goes on when that one stops renewing', async () => {
    // However long it takes to say that it is there, it keeps its place; the other one looks often.
    const first = bridge({ leaseSeconds: 120 });
    await expect.poll(() => first.notes.join()).toContain('posts to');
    const second = bridge();
    await expect.poll(() => second.notes.join()).toContain('standing by');
    await talk(stack.client, room, 10, 2);
    await posted(10);
    expect(second.notes.length).toBe(1);
    await first.stop();
    await talk(stack.client, room, 10, 2, 10);
    await posted(20);
    expect(numbersIn(...texts())).toEqual(await saidIn(stack.client, room, 20));
    expect(await ledger().view()).toMatchObject({ epoch: 2 });
  });

  it('waits for a chat that is down, while the room goes on, and then posts all of it', async () => {
    const one = bridge();
    await talk(stack.client, room, 5, 1);
    await posted(5);
    await chat.down();
    await talk(stack.client, room, 40, 4, 5);
    await expect.poll(() => one.notes.join()).toContain('cannot be reached');
    await chat.up();
    await posted(45);
    expect(numbersIn(...texts())).toEqual(await saidIn(stack.client, room, 45));
  });

  it('leaves out the oldest of too many, and posts how many', async () => {
    await chat.down();
    await talk(stack.client, room, 30, 2);
    bridge({ capacity: 5 });
    await saidIn(stack.client, room, 30);
    await chat.up();
    await expect.poll(() => numbersIn(...texts()).length).toBeGreaterThanOrEqual(4);
    expect(texts().join('\n')).toMatch(/… \d+ entries are left out here: the chat fell behind\./);
    const said = await saidIn(stack.client, room, 30);
    expect(numbersIn(...texts())).toEqual(said.filter((number) => numbersIn(...texts()).includes(number)));
    expect(said.slice(-4)).toEqual(numbersIn(...texts()).slice(-4));
  });

  /** Loses the ledger of a chat that has five posts of this bridge, and lets another one begin; then a sixth is logged. */
  async function afterLostLedger(lostLedger: 'mark' | 'skip'): Promise<string[]> {
    const first = bridge({ intervalMs: 0 });
    await talk(stack.client, room, 5, 1);
    await posted(5);
    await first.stop();
    await stack.client.workflow.getHandle(ledger().workflowId).terminate();
    await new Promise<void>((resolve) => void bridge({ intervalMs: 0, lostLedger, onReady: resolve }));
    await talk(stack.client, room, 1, 1, 5);
    await posted(6);
    return texts();
  }

  it('marks what it posts again after its ledger was lost', async () => {
    chat.remembers = false;
    const all = await afterLostLedger('mark');
    expect(numbersIn(...all)).toEqual([1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 6]);
    expect(all.map((text) => text.startsWith(POSSIBLE_REPEAT))).toEqual([
      ...Array.from({ length: 5 }, () => false),
      ...Array.from({ length: 5 }, () => true),
      false,
    ]);
    expect(numbersOnce(all)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('skips what the room had logged before its ledger was lost, where the operator says so', async () => {
    chat.remembers = false;
    expect(numbersIn(...(await afterLostLedger('skip')))).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('reads all that is written once it is ready', async () => {
    const received: string[] = [];
    const onMessage = async ({ text }: { text: string }) => void received.push(text);
    await new Promise<void>((resolve) => void bridge({ onMessage, onReady: resolve }));
    chat.says('@ann:example.org', 'first');
    await expect.poll(() => received).toEqual(['first']);
  });

  it('ends with what the chat says where it is refused', async () => {
    chat.revoke();
    await expect(bridge().ended).rejects.toThrow('401 M_UNKNOWN_TOKEN');
  });

  it('ends when its token is taken away, and has lost nothing when it is given a good one', async () => {
    const one = bridge();
    await talk(stack.client, room, 3, 1);
    await posted(3);
    const { token } = chat;
    chat.token = 'another-token';
    await talk(stack.client, room, 3, 1, 3);
    await expect(one.ended).rejects.toMatchObject({ fault: 'refused' });
    chat.token = token;
    bridge();
    await posted(6);
    expect(numbersIn(...texts())).toEqual(await saidIn(stack.client, room, 6));
  });

  it('begins now where it is asked to, and passes over what is not for people', async () => {
    await talk(stack.client, room, 5, 1);
    const one = bridge({ begin: 'now' });
    await expect.poll(() => one.notes.join()).toContain('posts to');
    await talk(stack.client, room, 1, 1, 5);
    await posted(1);
    expect(numbersIn(...texts())).toEqual([6]);
    const { head } = (await Wire.room(stack.client, room).view())['log'] as { head: number };
    await expect.poll(async () => (await ledger().view())['cursor']).toBe(head);
  });

  it('hands on what people write, from where it was read to, and nothing else', async () => {
    const received: string[] = [];
    const options = { onMessage: async ({ text }: { text: string }) => void received.push(text) };
    const one = bridge(options);
    await expect
      .poll(
        async () =>
          (
            await ledger()
              .view()
              .catch(() => ({}))
          )['heard' as never],
      )
      .toBeDefined();
    await talk(stack.client, room, 2, 1);
    await posted(2);
    chat.says('@ann:example.org', 'one');
    chat.botSays('noise');
    await expect.poll(() => received).toEqual(['one']);
    await one.stop();
    chat.says('@ann:example.org', 'two');
    bridge(options);
    await expect.poll(() => received).toEqual(['one', 'two']);
  });
});
