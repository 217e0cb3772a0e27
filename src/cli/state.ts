import { Command, InvalidArgumentError } from 'commander';
import { Agent } from '../client/agent.ts';
import { StateConflict } from '../client/state/answers.ts';
import type { StateStore } from '../client/state/store.ts';
import { OPERATOR_PREFIX } from '../envelope/envelope.ts';
import { json, type Json } from '../envelope/fields.ts';
import { MAX_DURATION_SECONDS, MAX_JSON_DEPTH } from '../envelope/limits.ts';
import { untilStopped } from './room.ts';
import { number, whole } from './values.ts';
import { withClient } from './withClient.ts';

export function stateCommand(): Command {
  return new Command('state')
    .description('read, write and watch the shared state of a room')
    .addCommand(getCommand())
    .addCommand(putCommand())
    .addCommand(watchCommand());
}

function getCommand(): Command {
  return new Command('get')
    .description('print a key, or all keys of a namespace, one JSON object a line')
    .argument('<room>')
    .argument('<namespace>')
    .argument('[key]')
    .action(async (room: string, namespace: string, key?: string) => {
      await withStore(room, namespace, `${OPERATOR_PREFIX}cli`, async (store) => {
        if (key === undefined) {
          for await (const entry of store.list()) console.log(JSON.stringify(entry));
          return;
        }
        const entry = await store.get(key);
        if (!entry) throw new Error(`there is no key ${key} in namespace ${namespace} of room ${room}`);
        console.log(JSON.stringify(entry));
      });
    });
}

interface PutOptions {
  readonly ifVersion?: number;
  readonly ttl?: number;
  readonly as: string;
}

function putCommand(): Command {
  return new Command('put')
    .description('write a key, and print its version')
    .argument('<room>')
    .argument('<namespace>')
    .argument('<key>')
    .argument('<value>', 'JSON, e.g. 3, true, \'"text"\' or \'{"a":1}\'', jsonValue)
    .option('--if-version <n>', 'only where the key has this version; 0: where it does not exist', whole(0))
    .option(
      '--ttl <seconds>',
      'seconds until it expires; default: never',
      number(0.001, MAX_DURATION_SECONDS, 'a number of seconds'),
    )
    .option('--as <agent>', 'who writes it', `${OPERATOR_PREFIX}cli`)
    .action(async (room: string, namespace: string, key: string, value: Json, options: PutOptions) => {
      const { ifVersion, ttl, as } = options;
      const conditions = {
        ...(ifVersion === undefined ? {} : { ifVersion }),
        ...(ttl === undefined ? {} : { ttlSeconds: ttl }),
      };
      await withStore(room, namespace, as, async (store) => {
        const written = await store.put(key, value, conditions).catch((error: unknown) => {
          if (!(error instanceof StateConflict)) throw error;
          throw new Error(`${error.message}, not ${ifVersion}: read it, and write with --if-version ${error.version}`);
        });
        console.log(JSON.stringify({ key, ...written }));
      });
    });
}

function watchCommand(): Command {
  return new Command('watch')
    .description('print each change of some keys as it happens, one JSON object a line')
    .argument('<room>')
    .argument('<namespace>')
    .argument('[keys...]', 'keys, or beginnings of keys that end in *; default: all')
    .action(async (room: string, namespace: string, keys: string[]) => {
      await withStore(room, namespace, `${OPERATOR_PREFIX}cli`, async (store) => {
        const stop = store.watch((change) => console.log(JSON.stringify(change)), keys.length > 0 ? { keys } : {});
        await untilStopped();
        stop();
      });
    });
}

async function withStore(
  room: string,
  namespace: string,
  as: string,
  act: (store: StateStore) => Promise<void>,
): Promise<void> {
  await withClient(async (client) => await act(new Agent(client, as).room(room).state(namespace)));
}

function jsonValue(text: string): Json {
  try {
    const value = json.safeParse(JSON.parse(text));
    if (value.success) return value.data;
  } catch {
    // Said below, as what is too deep.
  }
  throw new InvalidArgumentError(`must be JSON of at most ${MAX_JSON_DEPTH} levels; text stands in quotes: '"text"'`);
}
