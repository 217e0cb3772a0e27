import { z } from 'zod';
import { byName } from '../../envelope/byName.ts';
import { json, type Json } from '../../envelope/fields.ts';
import { SynodError } from '../../envelope/refusal.ts';
import { lockManagerId, shardOf } from '../../envelope/shards.ts';
import type { LockConnection } from './connection.ts';
import { locksTarget } from '../../envelope/targets.ts';
import type { Target } from '../../envelope/address.ts';

type Config = { readonly [key: string]: Json };

const shown = z.object({ config: byName(json) });
const shards = z.number().int().min(1);

/** How the locks of each room are configured, asked once they are started: from then on the number of shards is fixed. */
const known = new WeakMap<LockConnection, Map<string, Promise<Config | undefined>>>();

/**
 * Where a request for some resources goes: the room's lock manager, or the shard that they share.
 * @throws SynodError `invalid_envelope` where they do not share one.
 */
export async function lockTarget(
  connection: LockConnection,
  room: string,
  resources: readonly string[],
): Promise<Target> {
  const config = await configOf(connection, room);
  const count = countOf(config);
  if (count === 1) return locksTarget(room);
  const [shard = 0, ...others] = new Set(resources.map((resource) => shardOf(resource, count)));
  if (others.length === 0) return locksTarget(room, shard, config);
  throw new SynodError(
    'invalid_envelope',
    `resources lie in ${others.length + 1} of the ${count} shards of ${lockManagerId(room)}, and one request takes locks of one: ` +
      'give names that belong together the same {tag}',
  );
}

/** Over how many lock managers a room's locks are spread. */
export async function shardCount(connection: LockConnection, room: string): Promise<number> {
  return countOf(await configOf(connection, room));
}

function countOf(config: Config): number {
  return shards.default(1).parse(config['shards']);
}

/** What was known of a room's locks may be old. */
export function forgetLocks(connection: LockConnection, room: string): void {
  known.get(connection)?.delete(room);
}

async function configOf(connection: LockConnection, room: string): Promise<Config> {
  const rooms = known.get(connection) ?? new Map<string, Promise<Config | undefined>>();
  known.set(connection, rooms);
  const asked = rooms.get(room) ?? ask(connection, room);
  rooms.set(room, asked);
  let config: Config | undefined;
  try {
    config = await asked;
    return config ?? {};
  } finally {
    // What failed, or is not started yet, is asked again.
    if (!config && rooms.get(room) === asked) rooms.delete(room);
  }
}

async function ask(connection: LockConnection, room: string): Promise<Config | undefined> {
  const view = await connection.view(lockManagerId(room));
  return view && shown.parse(view).config;
}
