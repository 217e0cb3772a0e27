import type { ChatAdapter } from '../../src/bridge/adapter.ts';
import { agentpubAdapter } from '../../src/bridge/adapters/agentpub.ts';
import { discordAdapter } from '../../src/bridge/adapters/discord.ts';
import { matrixAdapter } from '../../src/bridge/adapters/matrix.ts';
import { slackAdapter } from '../../src/bridge/adapters/slack.ts';
import { FakeAgentpub } from './fakes/agentpub.ts';
import { FakeDiscord } from './fakes/discord.ts';
import { FakeMatrix } from './fakes/matrix.ts';
import type { FakeServer } from './fakes/server.ts';
import { FakeSlack } from './fakes/slack.ts';

/** What is waited for an answer that does not come: long for a fake on loopback, short for a test. */
export const TIMEOUT_MS = 1_500;
/** What is waited for one that comes, in milliseconds, however busy the machine is. */
export const AMPLE_MS = 20_000;

/** A chat service by its fake, as all tests that run over several know it. */
export interface Service<Chat extends FakeServer = FakeServer> {
  readonly name: string;
  /** Ids of people, as the service writes them; of these agentpub takes the first two for people. */
  readonly person: string;
  readonly another: string;
  readonly stranger: string;
  /** The fake, listening. */
  start(): Promise<Chat>;
  /** The adapter at the fake that listens at a URL, be it of another process. */
  at(url: string, timeoutMs?: number): Promise<ChatAdapter>;
}

interface Parts<Chat extends FakeServer> {
  readonly people: readonly [string, string, string];
  readonly fake: () => Chat;
  readonly adapter: (chat: Chat, where: { url: string; timeoutMs: number }) => ChatAdapter | Promise<ChatAdapter>;
}

function service<Chat extends FakeServer>(
  name: string,
  { people: [person, another, stranger], fake, adapter }: Parts<Chat>,
): Service<Chat> {
  return {
    name,
    person,
    another,
    stranger,
    async start() {
      const chat = fake();
      await chat.up();
      return chat;
    },
    // Rooms, ids and tokens of all fakes of a service are the same.
    at: async (url, timeoutMs = AMPLE_MS) => await adapter(fake(), { url, timeoutMs }),
  };
}

export const services = {
  matrix: service('matrix', {
    people: ['@jo:example.org', '@ann:example.org', '@jo:example.com'],
    fake: () => new FakeMatrix(),
    adapter: ({ room, token }, where) => matrixAdapter({ ...where, room, token }),
  }),
  discord: service('discord', {
    people: ['998877665544332211', '998877665544332212', '998877665544332213'],
    fake: () => new FakeDiscord(),
    adapter: async ({ channel, token }, { url, timeoutMs }) =>
      await discordAdapter({ url: `${url}/api`, channel, token, timeoutMs }),
  }),
  slack: service('slack', {
    people: ['U0JO0000001', 'U0ANN000001', 'U0JOE000001'],
    fake: () => new FakeSlack(),
    adapter: async ({ channel, token }, { url, timeoutMs }) =>
      await slackAdapter({ url: `${url}/api/`, channel, token, timeoutMs }),
  }),
  agentpub: service('agentpub', {
    people: ['jo', 'ann', 'joe'],
    fake: () => new FakeAgentpub(),
    adapter: ({ room, token, me }, where) =>
      agentpubAdapter({ ...where, room, token, agent: me, people: ['jo', 'ann'] }),
  }),
};

export type ServiceName = keyof typeof services;
