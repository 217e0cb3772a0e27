import { Command, InvalidArgumentError } from 'commander';
import type { ChatAdapter } from '../bridge/adapter.ts';
import { consoleAdapter } from '../bridge/adapters/console.ts';
import { matrixAdapter } from '../bridge/adapters/matrix.ts';
import { runBridge } from '../bridge/bridge.ts';
import { connect, disconnect } from '../client/connect.ts';
import { DEFAULT_TASK_QUEUE } from '../envelope/address.ts';
import { MAX_BRIDGE_LEASE_SECONDS } from '../envelope/bridge.ts';

/** How long a bridge that is stopped may take to end in order, in milliseconds: as long as a chat may take to answer. */
const STOP_MS = 20_000;

interface Options {
  readonly room: string;
  readonly matrixUrl?: string;
  readonly matrixRoom?: string;
  readonly console?: boolean;
  readonly interval: number;
  readonly lease: number;
  readonly fromNow?: boolean;
  readonly taskQueue: string;
}

/** What each chat needs; the first one whose options are given is it. Tokens come from the environment, never from options. */
const CHATS: readonly ((options: Options) => ChatAdapter | undefined)[] = [
  ({ matrixUrl: url, matrixRoom: room }) => {
    if (url === undefined && room === undefined) return undefined;
    if (url === undefined || room === undefined) throw new Error('--matrix-url and --matrix-room go together');
    return matrixAdapter({ url, room, token: secret('SYNOD_MATRIX_TOKEN', "the bot's access token") });
  },
  ({ console: wanted }) => (wanted ? consoleAdapter() : undefined),
];

export function bridgeCommand(): Command {
  return new Command('bridge')
    .description('mirror a room to a chat; prints "ready" when it runs, stops cleanly on SIGTERM')
    .requiredOption('--room <room>', 'the room to mirror')
    .option('--matrix-url <url>', 'homeserver; the token of the bot is read from SYNOD_MATRIX_TOKEN', url)
    .option('--matrix-room <id>', 'id of the Matrix room (!…), which the bot has joined')
    .option('--console', 'print it instead')
    .option(
      '--interval <seconds>',
      'one post an agent in so many seconds; more is joined; 0: each entry at once',
      interval,
      5,
    )
    .option('--lease <seconds>', 'after so long a silence another bridge of the same chat takes over', lease, 15)
    .option('--from-now', 'a chat that was never told anything begins now, not at the start of the room')
    .option('--task-queue <name>', 'task queue', DEFAULT_TASK_QUEUE)
    .addHelpText(
      'after',
      '\nSeveral may run for one chat: one posts, the others stand by. Whichever goes on begins where the last one stopped.',
    )
    .action(async (options: Options) => {
      const adapter = CHATS.map((chat) => chat(options)).find((chat) => chat !== undefined);
      if (!adapter) throw new Error('no chat is named: give --matrix-url and --matrix-room, or --console');
      const stop = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());
      const client = await connect();
      // A Temporal server that is away must not keep it from ending.
      stop.signal.addEventListener('abort', () => setTimeout(() => void disconnect(client), STOP_MS).unref(), {
        once: true,
      });
      try {
        await runBridge(
          {
            client,
            adapter,
            room: options.room,
            taskQueue: options.taskQueue,
            intervalMs: options.interval * 1000,
            leaseSeconds: options.lease,
            begin: options.fromNow ? 'now' : 'start',
            onNote: (note) => console.error(`synod: ${note}`),
            onReady: () => console.log('ready'),
          },
          stop.signal,
        );
      } finally {
        await disconnect(client);
      }
      console.error('synod: stopped');
    });
}

function secret(variable: string, what: string): string {
  const value = process.env[variable];
  if (value === undefined || value === '') throw new Error(`${variable} must hold ${what}`);
  return value;
}

function url(value: string): string {
  if (!URL.canParse(value) || !/^https?:/.test(value)) throw new InvalidArgumentError('must be a URL of http or https');
  return value;
}

function interval(value: string): number {
  return within(value, 0, 3600);
}

function lease(value: string): number {
  return within(value, 1, MAX_BRIDGE_LEASE_SECONDS);
}

function within(value: string, min: number, max: number): number {
  const parsed = Number(value);
  if (value.trim() === '' || !Number.isFinite(parsed) || parsed < min || parsed > max)
    throw new InvalidArgumentError(`must be a number of seconds from ${min} to ${max}`);
  return parsed;
}
