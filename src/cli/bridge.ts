import { readFile } from 'node:fs/promises';
import { Command, Option } from 'commander';
import { runBridge } from '../bridge/bridge.ts';
import { LOST_LEDGER, type LostLedger } from '../bridge/options.ts';
import { People } from '../bridge/people/list.ts';
import { DEFAULT_TASK_QUEUE } from '../envelope/address.ts';
import { MAX_BRIDGE_LEASE_SECONDS } from '../envelope/bridge.ts';
import { chatOf, withChatOptions, type ChatOptions } from './chats.ts';
import { number } from './values.ts';
import { withClient } from './withClient.ts';

const SECONDS = 'a number of seconds';

interface Options extends ChatOptions {
  readonly room: string;
  readonly interval: number;
  readonly lease: number;
  readonly people?: string;
  readonly fromNow?: boolean;
  readonly lostLedger: LostLedger;
  readonly taskQueue: string;
}

export function bridgeCommand(): Command {
  const command = new Command('bridge')
    .description('mirror a room to a chat; prints "ready" when it runs, stops cleanly on SIGTERM')
    .requiredOption('--room <room>', 'the room to mirror');
  return withChatOptions(command)
    .option(
      '--interval <seconds>',
      'one post an agent in so many seconds; more is joined; 0: each entry at once',
      number(0, 3600, SECONDS),
      5,
    )
    .option(
      '--lease <seconds>',
      'after so long a silence another bridge of the same chat takes over',
      number(1, MAX_BRIDGE_LEASE_SECONDS, SECONDS),
      15,
    )
    .option('--from-now', 'where nothing was ever posted to the chat, begin now, not at the start of the room')
    .addOption(
      new Option(
        '--lost-ledger <what>',
        'where the chat has posts of this bot and its ledger knows of none (it was terminated): mark what the room keeps as possible repeats, or skip it',
      )
        .choices(LOST_LEDGER)
        .default('mark'),
    )
    .option('--people <file>', 'who may post and act in the room from the chat, as JSON; without it nobody may')
    .option('--task-queue <name>', 'task queue', DEFAULT_TASK_QUEUE)
    .addHelpText(
      'after',
      '\nSeveral may run for one chat: one posts, the others stand by. Whichever goes on begins where the last one stopped.',
    )
    .action(mirror);
}

async function mirror(options: Options): Promise<void> {
  const people = options.people === undefined ? undefined : await peopleOf(options.people);
  const adapter = await chatOf(options);
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());
  await withClient(
    async (client) =>
      await runBridge(
        {
          client,
          adapter,
          room: options.room,
          taskQueue: options.taskQueue,
          intervalMs: options.interval * 1000,
          leaseSeconds: options.lease,
          ...(people ? { people } : {}),
          begin: options.fromNow ? 'now' : 'start',
          lostLedger: options.lostLedger,
          onNote: (note) => console.error(`synod: ${note}`),
          onReady: () => console.log('ready'),
        },
        stop.signal,
      ),
  );
  console.error('synod: stopped');
}

async function peopleOf(file: string): Promise<People> {
  try {
    const list: unknown = JSON.parse(await readFile(file, 'utf8'));
    return People.read(list);
  } catch (error) {
    throw new Error(`--people ${file}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
