import { InvalidArgumentError, type Command } from 'commander';
import type { ChatAdapter } from '../bridge/adapter.ts';
import { agentpubAdapter } from '../bridge/adapters/agentpub.ts';
import { consoleAdapter } from '../bridge/adapters/console.ts';
import { discordAdapter } from '../bridge/adapters/discord.ts';
import { matrixAdapter } from '../bridge/adapters/matrix.ts';
import { slackAdapter } from '../bridge/adapters/slack.ts';

/** Options of `synod bridge` that name the chat. */
export interface ChatOptions {
  readonly matrixUrl?: string;
  readonly matrixRoom?: string;
  readonly discordChannel?: string;
  readonly slackChannel?: string;
  readonly agentpubUrl?: string;
  readonly agentpubRoom?: string;
  readonly agentpubAgent?: string;
  readonly agentpubPeople?: readonly string[];
  readonly console?: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;
type Chat = (options: ChatOptions, env: Environment) => Promise<ChatAdapter> | ChatAdapter | undefined;

/** What each chat needs; undefined where none of its options is given. Tokens come from the environment, never from options. */
const CHATS: readonly Chat[] = [
  ({ matrixUrl: url, matrixRoom: room }, env) => {
    if (url === undefined && room === undefined) return undefined;
    if (url === undefined || room === undefined) throw new Error('--matrix-url and --matrix-room go together');
    return matrixAdapter({ url, room, token: secret(env, 'SYNOD_MATRIX_TOKEN', "the bot's access token") });
  },
  ({ discordChannel: channel }, env) =>
    channel === undefined
      ? undefined
      : discordAdapter({ channel, token: secret(env, 'SYNOD_DISCORD_TOKEN', "the bot's token") }),
  ({ slackChannel: channel }, env) =>
    channel === undefined
      ? undefined
      : slackAdapter({ channel, token: secret(env, 'SYNOD_SLACK_TOKEN', "the bot's token (xoxb-…)") }),
  ({ agentpubUrl: url, agentpubRoom: room, agentpubAgent: agent, agentpubPeople: people }, env) => {
    if ([url, room, agent, people].every((option) => option === undefined)) return undefined;
    if (room === undefined || agent === undefined) throw new Error('--agentpub-room and --agentpub-agent go together');
    const token = secret(env, 'SYNOD_AGENTPUB_TOKEN', "the agent's token");
    return agentpubAdapter({ room, agent, token, people: people ?? [], ...(url === undefined ? {} : { url }) });
  },
  ({ console: wanted }) => (wanted ? consoleAdapter() : undefined),
];

/** Adds the options that name the chat. */
export function withChatOptions(command: Command): Command {
  return command
    .option('--matrix-url <url>', 'homeserver; the token of the bot is read from SYNOD_MATRIX_TOKEN', url)
    .option('--matrix-room <id>', 'id of the Matrix room (!…), which the bot has joined')
    .option('--discord-channel <id>', 'id of the Discord channel; token from SYNOD_DISCORD_TOKEN')
    .option(
      '--slack-channel <id>',
      'id of the Slack channel (C…), which the bot was invited to; token from SYNOD_SLACK_TOKEN',
    )
    .option('--agentpub-room <id>', 'room of AgentPub, or of a service like it; token from SYNOD_AGENTPUB_TOKEN')
    .option('--agentpub-agent <id>', 'id of the agent that the token is for')
    .option('--agentpub-people <ids...>', 'who of that room is a person; all others are taken for bots')
    .option('--agentpub-url <url>', 'where the service is, if it is another', url)
    .option('--console', 'print it instead');
}

/**
 * The chat that the options name.
 * @throws Error where none or several are named, or one lacks what it needs.
 */
export async function chatOf(options: ChatOptions, env: Environment = process.env): Promise<ChatAdapter> {
  const [adapter, ...others] = CHATS.flatMap((chat) => chat(options, env) ?? []);
  // What comes of the others does not matter, but none may become an unhandled rejection.
  await Promise.allSettled(others.map(async (other) => await other));
  if (!adapter) {
    throw new Error(
      'no chat is named: give --matrix-url and --matrix-room, --discord-channel, --slack-channel, --agentpub-room or --console',
    );
  }
  if (others.length > 0) throw new Error('several chats are named: run one bridge for each');
  return await adapter;
}

function secret(env: Environment, variable: string, what: string): string {
  const value = env[variable];
  if (value === undefined || value === '') throw new Error(`${variable} must hold ${what}`);
  return value;
}

function url(value: string): string {
  if (!URL.canParse(value) || !/^https?:/.test(value)) throw new InvalidArgumentError('must be a URL of http or https');
  return value;
}
