import { Command, InvalidArgumentError } from 'commander';
import { Agent } from '../client/agent.ts';
import { connect, disconnect } from '../client/connect.ts';
import { StateConflict } from '../client/state/answers.ts';
import type { StateStore } from '../client/state/store.ts';
import { OPERATOR_PREFIX } from '../envelope/envelope.ts';
import { json, type Json } from '../envelope/fields.ts';
import { MAX_JSON_DEPTH } from '../envelope/limits.ts';
import { untilStopped } from './room.ts';

export function stateCommand(): Command {
  const command = new Command('state').description('read, write and watch the shared state of a room');
  command
    .command('get')
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
  command
    .command('put')
    .description('write a key, and print its version')
    .argument('<room>')
    .argument('<namespace>')
    .argument('<key>')
    .argument('<value>', 'JSON, e.g. 3, true, \'"text"\' or \'{"a":1}\'', jsonValue)
    .option('--if-version <n>', 'only where the key has this version; 0: where it does not exist', version)
    .option('--ttl <seconds>', 'seconds until it expires; default: never', seconds)
    .option('--as <agent>', 'who writes it', `${OPERATOR_PREFIX}cli`)
    .action(
      async (
        room: string,
        namespace: string,
        key: string,
        value: Json,
        options: { ifVersion?: number; ttl?: number; as: string },
      ) => {
        const { ifVersion, ttl, as } = options;
        await withStore(room, namespace, as, async (store) => {
          const written = await store
            .put(key, value, {
              ...(ifVersion === undefined ? {} : { ifVersion }),
              ...(ttl === undefined ? {} : { ttlSeconds: ttl }),
            })
            .catch((error: unknown) => {
              if (!(error instanceof StateConflict)) throw error;
              throw new Error(
                `${error.message}, not ${ifVersion}: read it, and write with --if-version ${error.version}`,
              );
            });
          console.log(JSON.stringify({ key, ...written }));
        });
      },
    );
  command
    .command('watch')
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
  return command;
}

async function withStore(
  room: string,
  namespace: string,
  as: string,
  act: (store: StateStore) => Promise<void>,
): Promise<void> {
  const client = await connect();
  try {
    await act(new Agent(client, as).room(room).state(namespace));
  } finally {
    await disconnect(client);
  }
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

function version(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new InvalidArgumentError('must be a whole number >= 0');
  return value;
}

function seconds(text: string): number {
  const value = Number(text);
  if (!(Number.isFinite(value) && value > 0)) throw new InvalidArgumentError('must be a number of seconds > 0');
  return value;
}
