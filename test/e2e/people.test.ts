import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ChatError, type ChatAdapter } from '../../src/bridge/adapter.ts';
import { matrixAdapter } from '../../src/bridge/adapters/matrix.ts';
import { runBridge } from '../../src/bridge/bridge.ts';
import { People } from '../../src/bridge/people/list.ts';
import { Agent, type WorkReport } from '../../src/client/index.ts';
import { FakeMatrix } from '../bridge/fakes/matrix.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { say, Wire } from '../support/wire.ts';

const JO = '@jo:example.org';
const ANN = '@ann:example.org';
const STRANGER = '@jo:example.com';
const LIST = {
  people: { [JO]: { agent: 'jo', operator: 'operator:jo' }, [ANN]: { agent: 'ann', may: ['vote'] } },
};

const entriesOf = async (wire: Wire) => (await wire.log()).map(({ envelope }) => envelope);

describe('people in the chat', () => {
  let stack: Stack;
  let chat: FakeMatrix;
  let room = '';
  let rooms = 0;
  const ends: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    stack = await startStack();
  });
  afterAll(() => stack.stop());
  beforeEach(async () => {
    chat = new FakeMatrix();
    await chat.up();
    room = `people-${(rooms += 1)}`;
  });
  afterEach(async () => {
    await Promise.all(ends.splice(0).map((end) => end()));
    await chat.stop();
  });

  const matrix = (): ChatAdapter =>
    matrixAdapter({ url: chat.url, room: chat.room, token: chat.token, timeoutMs: 1_000 });

  /** Runs a bridge until it reads the chat. */
  async function bridge(list: unknown = LIST, adapter: ChatAdapter = matrix()) {
    const stop = new AbortController();
    const notes: string[] = [];
    const options = { client: stack.client, room, adapter, intervalMs: 50, leaseSeconds: 2 };
    const ended = runBridge(
      { ...options, people: People.read(list), onNote: (note) => notes.push(note) },
      stop.signal,
    ).catch(() => undefined);
    const end = async () => {
      stop.abort();
      await ended;
    };
    ends.push(end);
    const ledger = Wire.ledger(stack.client, room, `matrix:${chat.room}`);
    const received = async () => (await ledger.view().catch((): Record<string, unknown> => ({})))['heard'];
    await expect.poll(received).toBeDefined();
    return { notes, end, stop };
  }

  /** What was answered to a message, in its thread. */
  const answersTo = (id: string): string[] =>
    chat.posts.filter(({ author, thread }) => author === chat.me && thread === id).map(({ text }) => text);
  const answerTo = async (id: string): Promise<string> => {
    await expect.poll(() => answersTo(id).length).toBe(1);
    return answersTo(id)[0] ?? '';
  };
  const ask = async (text: string, author: string = JO): Promise<string> => await answerTo(chat.says(author, text));
  const posted = (): string =>
    chat.posts.flatMap(({ author, thread, text }) => (author === chat.me && !thread ? [text] : [])).join('\n');

  async function propose(id: string, voters: readonly string[]): Promise<Wire> {
    const proposal = Wire.proposal(stack.client, room, id);
    const question = { proposal_id: id, question: 'Publish?', voters, quorum: voters.length, deadline_seconds: 3_600 };
    await proposal.ask(say('decision.propose', 'lead', question));
    return proposal;
  }

  it('decide by a vote; a stranger does not, nor who is no voter', async () => {
    const { notes } = await bridge();
    const proposal = await propose('p-12', ['jo']);
    const stranger = chat.says(STRANGER, '!vote no p-12');
    expect(await ask('!vote yes p-12', ANN)).toMatch(/^Refused: not_eligible/);
    expect(await ask('!vote perhaps p-12')).toMatch(/^Refused: invalid_envelope: choice/);
    expect(await proposal.view()).toMatchObject({ status: 'open', votes: {} });
    expect(await ask('!vote yes p-12')).toBe('jo has voted yes on p-12 (yes 1, no 0)');
    expect(await proposal.view()).toMatchObject({ outcome: { type: 'decision.commit', choice: 'yes' } });
    expect(answersTo(stranger)).toEqual([]);
    expect(notes.filter((note) => note.includes(STRANGER))).toHaveLength(1);
    await expect.poll(posted).toContain('p-12 is decided: yes');
  });

  it('post as their agents, once; what they wrote is not mirrored back, and messages of others are ignored', async () => {
    await bridge();
    chat.says(STRANGER, 'let me in');
    chat.says(ANN, 'I only vote');
    chat.says(JO, 'hello\n!vote yes p-1; $(reboot)');
    chat.botSays('!pause');
    const room1 = Wire.room(stack.client, room);
    const posts = async () =>
      (await entriesOf(room1)).filter(({ type }) => type === 'room.post').map(({ from, text }) => ({ from, text }));
    await expect.poll(posts).toHaveLength(1);
    expect(await posts()).toEqual([{ from: 'jo', text: 'hello\n!vote yes p-1; $(reboot)' }]);
    await new Agent(stack.client, 'worker').post(room, 'and an agent');
    await expect.poll(posted).toContain('worker: and an agent');
    expect(posted()).not.toContain('hello');
    expect(await room1.view()).not.toHaveProperty('paused');
  });

  it('are guests where the list has a name for them: they post, and can do nothing else', async () => {
    await bridge({ ...LIST, guests: 'visitors' });
    chat.says(STRANGER, '!pause');
    chat.says(STRANGER, 'let me in');
    const log = async () => (await entriesOf(Wire.room(stack.client, room)).catch(() => [])).map(({ type }) => type);
    await expect.poll(log).toContain('room.post');
    expect(await entriesOf(Wire.room(stack.client, room))).toMatchObject([
      { type: 'room.post', from: 'visitors', text: `${STRANGER}: let me in` },
    ]);
  });

  it('are read again by the next bridge, and nothing is done or answered twice', async () => {
    const inner = matrix();
    const dies: ChatAdapter = {
      ...inner,
      async post(...args) {
        const posted = await inner.post(...args);
        if (args[2]?.thread === undefined) return posted;
        first.stop.abort();
        throw new ChatError('ambiguous', 'killed before the answer to its answer came');
      },
    };
    const lookedFor: string[] = [];
    const next: ChatAdapter = {
      ...inner,
      async readBack(...args) {
        lookedFor.push(args[1].text);
        return await inner.readBack(...args);
      },
    };
    const proposal = await propose('p', ['jo', 'bo']);
    const first = await bridge(LIST, dies);
    const vote = chat.says(JO, '!vote yes p');
    await answerTo(vote);
    await first.end();
    await bridge(LIST, next);
    await ask('!help');
    expect(lookedFor).toContain('jo has voted yes on p (yes 1, no 0)');
    expect(answersTo(vote)).toEqual(['jo has voted yes on p (yes 1, no 0)']);
    const votes = (await entriesOf(proposal)).filter(({ type }) => type === 'decision.vote');
    expect(votes).toHaveLength(1);
  });

  it('look at tasks, locks and who is there, and take and end what is stuck', async () => {
    await bridge();
    const producer = new Agent(stack.client, 'producer');
    await producer.announce(room, { taskId: 't-9', title: 'to do', priority: 1 });
    await producer.join(room, { kind: 'worker', purpose: '<@U1> sorting' });
    const locks = Wire.locks(stack.client, room);
    const request = { resources: ['report'], lock_type: 'write', lease_seconds: 300 };
    const [granted] = await locks.ask(say('lock.request', 'bo', request));
    const lockId = String(granted?.['lock_id'] as string);
    expect(await ask('!locks')).toContain(`report, write by bo since`);
    expect(await ask('!locks')).toContain(lockId);
    await expect.poll(async () => await ask('!tasks')).toContain('t-9, open, priority 1');
    expect(await ask('!who')).toContain('producer, worker: <\u200b@\u200bU1> sorting');
    expect(await ask(`!release ${lockId} stuck`, ANN)).toMatch(/^Refused: unauthorized: ann may not release/);
    expect(await ask(`!release ${lockId} bo has gone home`)).toBe(`${lockId} is released`);
    expect(await entriesOf(locks)).toContainEqual(expect.objectContaining({ type: 'lock.expired', holder: 'bo' }));
    expect(await ask('!cancel t-9 not needed')).toBe('t-9 is cancelled');
    const barrier = Wire.barrier(stack.client, room, 'phase%202');
    const open = { phase: 'phase 2', roster: ['bo'], timeout_seconds: 3_600, fallback: 'escalate' };
    await barrier.ask(say('barrier.open', 'lead', open));
    expect(await ask('!resolve "phase 2" extend 60')).toBe('phase 2: extend');
    expect(await ask('!resolve "phase 2" proceed')).toBe('phase 2: proceed');
    expect(await ask('!resolve "phase 2" later')).toMatch(/^Refused: invalid_envelope: action/);
    expect(await ask('!rm -rf /')).toContain('!help');
  });

  it('pause a room: what is under way goes on, nothing new is claimed, until they resume it', async () => {
    await bridge();
    const agent = new Agent(stack.client, 'worker');
    const stop = new AbortController();
    const reports: WorkReport[] = [];
    let finish: () => void = () => undefined;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const working = agent.work(
      room,
      async ({ taskId: id, signal }) => {
        if (id === 'long') await finished;
        if (id === 'endless')
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
      { signal: stop.signal, claimJitterSeconds: 0, onReport: (report) => reports.push(report) },
    );
    ends.push(async () => {
      stop.abort();
      finish();
      await working;
    });
    const seen = () => reports.map(({ kind, taskId: id }) => `${kind} ${id}`);
    const announce = (id: string) => agent.announce(room, { taskId: id, title: id });
    await announce('long');
    await expect.poll(seen).toEqual(['started long']);
    expect(await ask('!pause for lunch')).toContain('The room is paused');
    await announce('next');
    expect(await ask('!who')).toContain('paused by operator:jo');
    finish();
    await expect.poll(seen).toEqual(['started long', 'completed long']);
    // Another worker, which has not received the pause, reads it from the board; a round of the chat later it has begun nothing.
    const second = new AbortController();
    const other = new Agent(stack.client, 'other').work(
      room,
      async () => void reports.push({ kind: 'started', taskId: 'by other', token: 0 }),
      {
        signal: second.signal,
        claimJitterSeconds: 0,
      },
    );
    await ask('!tasks');
    await ask('!tasks');
    expect(seen()).toEqual(['started long', 'completed long']);
    second.abort();
    await other;
    expect(await ask('!resume')).toBe('The room goes on.');
    await expect.poll(seen).toContain('completed next');
    await announce('endless');
    await expect.poll(seen).toContain('started endless');
    await ask('!cancel endless');
    await expect.poll(seen).toContain('lost endless');
  });
});
