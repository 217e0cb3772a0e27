import { Command } from 'commander';
import { checked } from '../client/messages/compose.ts';
import { logToStderr } from '../dev/log.ts';
import { DEFAULT_TASK_QUEUE } from '../envelope/address.ts';
import { serveGateway } from '../gateway/server.ts';
import { TokenFile, editTokens, readTokens } from '../gateway/tokenStore.ts';
import { DEFAULT_RATE, issue, MAX_RATE, type StoredToken } from '../gateway/tokens.ts';
import { untilStopped } from './room.ts';
import { number, port } from './values.ts';
import { withClient } from './withClient.ts';

const DEFAULT_PORT = 8787;
const DEFAULT_FILE = 'synod-tokens.json';
const HASHES = 'file of tokens, of which it holds only hashes; SYNOD_TOKENS names another';

export function gatewayCommand(): Command {
  return new Command('gateway')
    .description(
      'HTTP for agents without Temporal, and the hub for many processes; prints "ready URL" when it listens, stops cleanly on SIGTERM',
    )
    .option(
      '--host <address>',
      'address to listen on; anything but loopback wants a proxy with TLS before it',
      '127.0.0.1',
    )
    .option('--port <port>', 'port to listen on', port, DEFAULT_PORT)
    .option('--tokens <file>', HASHES, process.env['SYNOD_TOKENS'] ?? DEFAULT_FILE)
    .option('--task-queue <name>', 'task queue', DEFAULT_TASK_QUEUE)
    .addCommand(tokenCommand())
    .action(async (options: { host: string; port: number; tokens: string; taskQueue: string }) => {
      const tokens = await TokenFile.open(options.tokens, logToStderr);
      // It is a hub itself: it goes to Temporal, though the environment names a hub for agents.
      delete process.env['SYNOD_HUB'];
      await withClient(async (client) => {
        const stopped = untilStopped();
        const gateway = await serveGateway(client, { ...options, tokens });
        console.log(`ready ${gateway.url}`);
        await stopped;
        await gateway.close();
      });
      console.error('synod: stopped');
    });
}

function tokenCommand(): Command {
  const file = ['--tokens <file>', HASHES, process.env['SYNOD_TOKENS'] ?? DEFAULT_FILE] as const;
  const add = new Command('add')
    .description('issue a token for one agent; it is printed once, and kept nowhere')
    .requiredOption('--agent <id>', 'the agent that it is for')
    .requiredOption('--room <name...>', 'rooms that it is for; * for all')
    .option('--operator', 'it may also act as operator:AGENT: force, resolve, cancel')
    .option('--hub', 'it is for a process of several agents: it may send as any of them')
    .option(
      '--rate <n>',
      `requests a second, averaged over ten; 0 for no limit (default: ${DEFAULT_RATE}, for a hub 0)`,
      number(0, MAX_RATE),
    )
    .option(...file)
    .action(async (options: Rights & { tokens: string }) => {
      const { token, stored } = issue({
        agent: checked('agent', options.agent),
        rooms: options.room.map((room) => (room === '*' ? room : checked('room', room))),
        operator: options.operator ?? false,
        hub: options.hub ?? false,
        ...(options.rate === undefined ? {} : { rate: options.rate }),
      });
      await editTokens(options.tokens, (known) => [...known, stored]);
      console.log(token);
    });
  const ls = new Command('ls')
    .description('list the tokens: id, agent, rooms, rights')
    .option(...file)
    .action(async (options: { tokens: string }) => {
      for (const token of (await readTokens(options.tokens)).values()) console.log(lineOf(token));
    });
  const revoke = new Command('revoke')
    .description('end a token; a running gateway follows within a second, its streams at their next heartbeat')
    .argument('<id>', 'as ls lists it: the part of the token after synod_')
    .option(...file)
    .action(async (id: string, options: { tokens: string }) => {
      await editTokens(options.tokens, (known) => {
        if (!known.some((token) => token.id === id)) throw new Error(`there is no token ${id} in ${options.tokens}`);
        return known.filter((token) => token.id !== id);
      });
    });
  return new Command('token')
    .description('issue, list and revoke tokens')
    .addCommand(add)
    .addCommand(ls)
    .addCommand(revoke);
}

interface Rights {
  readonly agent: string;
  readonly room: string[];
  readonly operator?: boolean;
  readonly hub?: boolean;
  readonly rate?: number;
}

function lineOf({ id, agent, rooms, operator, hub, rate }: StoredToken): string {
  const rights = [operator ? 'operator' : '', hub ? 'hub' : '', rate === undefined ? '' : `${rate}/s`];
  return [id, agent, rooms.join(','), ...rights].join('\t').trimEnd();
}
