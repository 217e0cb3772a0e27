import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runBridge } from '../../src/bridge/bridge.ts';
import { POSSIBLE_REPEAT } from '../../src/bridge/deliver.ts';
import { People } from '../../src/bridge/people/list.ts';
import { Agent } from '../../src/client/index.ts';
import { startChild, type OwnedChild } from '../../src/dev/child.ts';
import type { FakeServer, Fault } from '../bridge/fakes/server.ts';
import { numbersIn, numbersOnce, saidIn, talk } from '../bridge/mirrored.ts';
import { expectTamed, nastyText } from '../bridge/nasty.ts';
import { services, type Service } from '../bridge/services.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { say, Wire } from '../support/wire.ts';

const MAIN = fileURLToPath(new URL('../support/bridge.main.ts', import.meta.url));
const KILLS = 3;
const MESSAGES = 36;

/** Everything that can befall a post, and a post in between that nothing befalls. */
const FAULTS: readonly Fault[] = [
  { kind: 'rate-limited', retryAfterMs: 120 },
  { kind: 'rate-limited' },
  { kind: 'error', status: 502, taken: true },
  { kind: 'error', status: 500, taken: false },
  { kind: 'silence', taken: true },
  { kind: 'error', status: 503, taken: false },
  { kind: 'drop', taken: true },
  { kind: 'drop', taken: false },
  { kind: 'silence', taken: false },
  { kind: 'slow', ms: 200 },
];

/** Of these two `SYNOD_LONG=1` alone kills bridges: Matrix is also tested by a real homeserver, AgentPub keeps keys as Matrix does. */
const SHORT: ReadonlySet<string> = new Set(process.env['SYNOD_LONG'] === '1' ? [] : ['matrix', 'agentpub']);

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

describe.each<Service>(Object.values(services))('a room that $name mirrors', (service) => {
  let chat: FakeServer;
  let room = '';
  let rooms = 0;
  const children: OwnedChild[] = [];
  const ends: (() => Promise<void>)[] = [];

  beforeEach(async () => {
    chat = await service.start();
    room = `${service.name}-${(rooms += 1)}`;
  });
  afterEach(async () => {
    await Promise.all(children.splice(0).map((child) => child.kill()));
    await Promise.all(ends.splice(0).map((end) => end()));
    await chat.stop();
  });

  const own = () => chat.posts.filter(({ author }) => author === chat.me);
  const texts = (): string[] => own().flatMap(({ thread, text }) => (thread === undefined ? [text] : []));

  /** A bridge in a process of its own. */
  async function start(): Promise<OwnedChild> {
    const args = ['--import', 'tsx', MAIN, stack.server.address, room, service.name, chat.url];
    const child = await startChild(process.execPath, args);
    children.push(child);
    return child;
  }

  const all = SHORT.has(service.name) ? [] : [service.name];
  it.each(all)(
    'receives every message in order, over failures of the chat and the bridges; a repeat is marked: %s',
    async () => {
      chat.remembers = false;
      for (const fault of FAULTS) chat.faults.push(fault, { kind: 'slow', ms: 1 });
      // One posts, the others stand by: whichever is killed, another goes on.
      const bridges = await Promise.all(Array.from({ length: KILLS + 1 }, start));
      const posting = talk(stack.client, room, MESSAGES, 4);
      const upTo = async (share: number): Promise<void> => {
        const posted = () => new Set(numbersIn(...texts())).size;
        await expect.poll(posted, { interval: 20 }).toBeGreaterThanOrEqual(MESSAGES * share);
      };
      const posters = () => bridges.filter((one) => one.running() && /^posts to/m.test(one.tail()));
      await upTo(1 / 8);
      await chat.down();
      const notes = () => bridges.map((one) => one.tail()).join('\n');
      await expect.poll(notes).toContain('cannot be reached');
      await chat.up();
      for (let kill = 1; kill <= KILLS; kill++) {
        await upTo(kill / (KILLS + 1));
        // The next one takes over when the lease of the last one is over, however much has been posted until then.
        await expect.poll(() => posters().length).toBeGreaterThan(0);
        await posters()[0]?.kill();
      }
      await posting;
      await upTo(1);
      expect(chat.faults).toEqual([]);
      const said = await saidIn(stack.client, room, MESSAGES);
      expect(numbersOnce(texts())).toEqual(said);
      const { target } = await service.at(chat.url);
      const ledger = Wire.ledger(stack.client, room, `${service.name}:${target}`);
      // One more each time that a running bridge sent nothing for a second, on a busy machine.
      const { epoch } = await ledger.view();
      expect(epoch).toBeGreaterThanOrEqual(KILLS + 1);
    },
  );

  /** Runs a bridge in this process; once it is resolved, the bridge reads the chat. */
  async function bridge(): Promise<void> {
    const { person, another } = service;
    const people = People.read({
      people: { [person]: { agent: 'jo', operator: 'operator:jo' }, [another]: { agent: 'ann', may: ['vote'] } },
    });
    const stop = new AbortController();
    // At a service's own pace a test would wait for seconds.
    const adapter = { ...(await service.at(chat.url)), pace: { busy: 0, quiet: 200 } };
    const options = { client: stack.client, room, adapter, people, intervalMs: 50, leaseSeconds: 2 };
    const ended = runBridge(options, stop.signal).catch(() => undefined);
    ends.push(async () => {
      stop.abort();
      await ended;
    });
    const ledger = Wire.ledger(stack.client, room, `${service.name}:${adapter.target}`);
    const received = async () => (await ledger.view().catch((): Record<string, unknown> => ({})))['heard'];
    await expect.poll(received).toBeDefined();
  }

  it('accepts a person’s vote, which decides, and not a stranger’s', async () => {
    await bridge();
    const proposal = Wire.proposal(stack.client, room, 'p-12');
    const question = { proposal_id: 'p-12', question: 'Publish?', voters: ['jo'], quorum: 1, deadline_seconds: 3_600 };
    await proposal.ask(say('decision.propose', 'lead', question));
    const answers = (id: string): string[] => own().flatMap(({ thread, text }) => (thread === id ? [text] : []));
    const stranger = chat.says(service.stranger, '!vote no p-12');
    const noVoter = chat.says(service.another, '!vote yes p-12');
    // Messages are read in order: once the later one is answered, the stranger's has been read.
    await expect.poll(() => answers(noVoter)).toHaveLength(1);
    expect(answers(noVoter)[0]).toMatch(/^Refused: not_eligible/);
    expect(answers(stranger)).toEqual([]);
    expect(await proposal.view()).toMatchObject({ status: 'open', votes: {} });
    const vote = chat.says(service.person, '!vote yes p-12');
    await expect.poll(() => answers(vote)).toEqual(['jo has voted yes on p-12 (yes 1, no 0)']);
    expect(await proposal.view()).toMatchObject({ outcome: { type: 'decision.commit', choice: 'yes' } });
    await expect.poll(() => texts().join('\n')).toContain('p-12 is decided: yes');
  });

  it('receives what would ping, break out or leak, readable, harmless and masked', async () => {
    await bridge();
    await new Agent(stack.client, 'ann').post(room, nastyText);
    await expect.poll(() => texts().at(-1)).toMatch(/end$/);
    expectTamed(texts());
    expect(own().map(({ pings }) => pings)).toEqual(own().map(() => 0));
    expect(texts().join('')).not.toContain(POSSIBLE_REPEAT);
  });
});
