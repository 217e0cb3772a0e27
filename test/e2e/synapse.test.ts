import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Agent } from '../../src/client/index.ts';
import { startChild, type OwnedChild } from '../../src/dev/child.ts';
import { numbersIn, saidIn, talk } from '../bridge/mirrored.ts';
import { expectTamed, nastyText } from '../bridge/nasty.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { Synapse, synapseMissing, type MatrixUser } from '../support/synapse.ts';
import { say, Wire } from '../support/wire.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
/** `SYNOD_LONG=1`: as many messages, kills and restarts as the project promises to bear. */
const LONG = process.env['SYNOD_LONG'] === '1';
const { messages, kills, restarts } = LONG
  ? { messages: 500, kills: 5, restarts: 2 }
  : { messages: 80, kills: 2, restarts: 1 };

const missing = await synapseMissing();

describe.skipIf(missing !== undefined)('a room in a real homeserver', { timeout: 1_800_000 }, () => {
  let stack: Stack;
  let rooms = 0;
  const bridges: OwnedChild[] = [];
  const homeservers: Synapse[] = [];

  beforeAll(async () => {
    stack = await startStack();
  });
  afterAll(() => stack.stop());
  afterEach(async () => {
    await Promise.all(bridges.splice(0).map((bridge) => bridge.stop()));
    await Promise.all(homeservers.splice(0).map((homeserver) => homeserver.stop()));
  });

  /** A homeserver with a room that a person has made and the bot has joined. */
  async function meet(limits: 'default' | 'raised') {
    const synapse = await Synapse.start(limits);
    homeservers.push(synapse);
    const [ann, bot] = [await synapse.register('ann'), await synapse.register('synod')];
    const chat = await ann.createRoom();
    await bot.join(chat);
    return { synapse, ann, bot, chat, room: `synapse-${(rooms += 1)}` };
  }

  /** `synod bridge` as a process of its own. */
  async function bridge(of: { synapse: Synapse; bot: MatrixUser; chat: string; room: string }, ...more: string[]) {
    Object.assign(process.env, { SYNOD_MATRIX_TOKEN: of.bot.token, TEMPORAL_ADDRESS: stack.server.address });
    const where = ['--room', of.room, '--matrix-url', of.synapse.url, '--matrix-room', of.chat];
    const child = await startChild(process.execPath, ['--import', 'tsx', MAIN, 'bridge', ...where, ...more]);
    bridges.push(child);
    return child;
  }

  async function textsOf({ ann, bot, chat }: { ann: MatrixUser; bot: MatrixUser; chat: string }): Promise<string[]> {
    const events = (await ann.history(chat)).filter(({ sender }) => sender === bot.id);
    return events.map(({ content }) => String(content['body'] as string));
  }

  it('receives 20 messages, each once and in order, under the rate limits that Synapse ships with', async () => {
    const at = await meet('default');
    const child = await bridge(at, '--interval', '0');
    await child.said(/^ready$/);
    await talk(stack.client, at.room, 20, 1);
    await expect.poll(async () => (await textsOf(at)).length, { timeout: 300_000, interval: 1_000 }).toBe(20);
    expect(numbersIn(...(await textsOf(at)))).toEqual(await saidIn(stack.client, at.room, 20));
    // It was rate-limited, and waited as asked.
    expect(child.tail()).toContain('M_LIMIT_EXCEEDED');
    await child.stop();
    expect((await child.exited).code).toBe(0);
  });

  it(`receives ${messages} messages of 6 agents, each once and in order, over ${kills} kills of the bridge and ${restarts} restarts of Synapse`, async () => {
    const at = await meet('raised');
    const start = () => bridge(at, '--interval', '0', '--lease', '1');
    let child = await start();
    const posting = talk(stack.client, at.room, messages, 6);
    const upTo = async (share: number): Promise<void> => {
      const wanted = Math.floor(messages * share);
      await expect
        .poll(async () => (await textsOf(at)).length, { timeout: 240_000, interval: 50 })
        .toBeGreaterThanOrEqual(wanted);
    };
    const disturbances = [
      ...Array.from({ length: kills }, (_, i) => ({ at: (i + 1) / (kills + 1), what: 'kill' as const })),
      ...Array.from({ length: restarts }, (_, i) => ({ at: (i + 0.5) / (restarts + 0.5), what: 'restart' as const })),
    ].sort((a, b) => a.at - b.at);
    for (const { at: share, what } of disturbances) {
      await upTo(share * 0.9);
      if (what === 'restart') {
        await at.synapse.down();
        await at.synapse.up();
      } else {
        await child.kill();
        child = await start();
      }
    }
    await posting;
    const posted = async (): Promise<number[]> => numbersIn(...(await textsOf(at)));
    await expect.poll(async () => new Set(await posted()).size, { timeout: 300_000, interval: 500 }).toBe(messages);
    expect(await posted()).toEqual(await saidIn(stack.client, at.room, messages));
  });

  it('lets a person on the list decide by a vote, and a stranger not', async () => {
    const at = await meet('raised');
    const stranger = await at.synapse.register('jo');
    await stranger.join(at.chat);
    const folder = await mkdtemp(path.join(tmpdir(), 'synod-people-'));
    const list = path.join(folder, 'people.json');
    await writeFile(list, JSON.stringify({ people: { [at.ann.id]: { agent: 'ann', operator: 'operator:ann' } } }));
    const child = await bridge(at, '--interval', '0', '--people', list);
    await child.said(/^ready$/);
    const ledger = Wire.ledger(stack.client, at.room, `matrix:${at.chat}`);
    const received = async () => (await ledger.view().catch((): Record<string, unknown> => ({})))['heard'];
    await expect.poll(received).toBeDefined();
    const question = { proposal_id: 'p-12', question: 'Publish?', voters: ['ann'], quorum: 1, deadline_seconds: 3_600 };
    const proposal = Wire.proposal(stack.client, at.room, 'p-12');
    await proposal.ask(say('decision.propose', 'lead', question));
    await stranger.say(at.chat, '!vote no p-12');
    await stranger.say(at.chat, '!release l-1 mine now');
    await at.ann.say(at.chat, '!who');
    // Messages are read in order: once the later one is answered, the stranger's have been read.
    await expect.poll(() => textsOf(at)).toContain('Nobody has joined.');
    expect(await proposal.view()).toMatchObject({ status: 'open', votes: {} });
    await at.ann.say(at.chat, '!vote yes p-12');
    await expect.poll(() => textsOf(at)).toContainEqual(expect.stringMatching(/^ann has voted yes/));
    expect(await proposal.view()).toMatchObject({
      outcome: { type: 'decision.commit', choice: 'yes', votes: { ann: 'yes' } },
    });
    await expect.poll(() => textsOf(at)).toContainEqual(expect.stringContaining('p-12 is decided: yes'));
    // Answers stand in the thread of what they answer, and are as silent as every post.
    const answers = (await at.ann.history(at.chat)).filter(({ content }) => content['m.relates_to'] !== undefined);
    expect(answers.map(({ sender }) => sender)).toEqual([at.bot.id, at.bot.id]);
    for (const { content } of answers)
      expect(content).toMatchObject({
        msgtype: 'm.notice',
        'm.mentions': {},
        'm.relates_to': { rel_type: 'm.thread' },
      });
    await rm(folder, { recursive: true, force: true });
  });

  it('receives what would ping, break out or leak, readable, harmless and masked', async () => {
    const at = await meet('raised');
    await bridge(at);
    await new Agent(stack.client, 'ann').post(at.room, nastyText);
    await expect.poll(async () => (await textsOf(at)).at(-1)).toMatch(/end$/);
    expectTamed(await textsOf(at));
    const events = (await at.ann.history(at.chat)).filter(({ sender }) => sender === at.bot.id);
    for (const { content } of events) expect(content).toMatchObject({ msgtype: 'm.notice', 'm.mentions': {} });
  });
});
