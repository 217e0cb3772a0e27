import { z } from 'zod';
import type { Envelope } from '../../envelope/envelope.ts';
import { lockMessages } from '../../envelope/lock.ts';
import { lockManagerId, shardOfLock } from '../../envelope/shards.ts';
import { accepted } from '../messages/answers.ts';
import { compose } from '../messages/compose.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';
import { locksTarget } from '../../envelope/targets.ts';

const lock = z.object({ lock_id: z.string(), lock_type: z.string(), since: z.string() });
const holder = lock.extend({
  holder: z.string(),
  token: z.number(),
  lost_by: z.string().optional(),
  lease_expires_at: z.string().optional(),
  rollback_ends_at: z.string().optional(),
});
const waiter = lock.extend({ agent: z.string(), priority: z.number(), wait_ends_at: z.string() });
const resource = z.object({
  resource: z.string(),
  holders: z.array(holder),
  holders_count: z.number(),
  queue: z.array(waiter),
  queue_count: z.number(),
});
/** A resource that is locked: who holds it, and who waits. */
export type LockedResource = z.infer<typeof resource>;
const shown = z.object({
  resources: z.array(resource),
  resources_count: z.number(),
  config: z.object({ shards: z.number().default(1) }),
  now: z.string(),
});

/** The locks of a room, held and waited for. */
export interface LockStatus {
  /** The most waited for first. */
  readonly resources: readonly LockedResource[];
  /** How many more are locked than are shown. */
  readonly left: number;
  /** When that was, by the server's clock. */
  readonly now: string;
}

/** Reads the locks of a room, over all its shards. */
export async function lockStatus(connection: SharedConnection, room: string): Promise<LockStatus> {
  const view = async (shard?: number) => {
    const found = await connection.view(lockManagerId(room, shard));
    return found && shown.parse(found);
  };
  const base = await view();
  const count = base?.config.shards ?? 1;
  const shards = count === 1 ? [base] : await Promise.all(Array.from({ length: count }, async (_, i) => await view(i)));
  const all = shards.flatMap((each) => (each ? [each] : []));
  const resources = all.flatMap((each) => each.resources).sort((a, b) => b.queue_count - a.queue_count);
  const total = all.reduce((sum, each) => sum + each.resources_count, 0);
  return { resources, left: total - resources.length, now: base?.now ?? new Date().toISOString() };
}

/**
 * Takes a lock from its holder, as if its lease had ended.
 * @param operator who does it, `operator:…`.
 * @param id the message's, where it may be sent again.
 * @throws SynodError `unauthorized`, `not_holder` or what else the lock manager says.
 */
export async function forceRelease(
  connection: SharedConnection,
  room: string,
  operator: string,
  { lock_id, reason, id }: { lock_id: string; reason: string; id?: string },
): Promise<readonly Envelope[]> {
  const message = compose(lockMessages['lock.force_release'], operator, {
    type: 'lock.force_release',
    lock_id,
    reason,
    id,
  });
  return accepted(await connection.send(locksTarget(room, shardOfLock(lock_id)), message));
}

/** A resource in one line, in parts that are separated by tabs; the last of them the ids by which its locks are released. */
export function lineOfLocked({
  resource: name,
  holders,
  holders_count: held,
  queue_count: waiting,
}: LockedResource): string {
  const [first] = holders;
  const by = first ? `${first.lock_type} by ${first.holder} since ${first.since}` : 'nobody';
  const more = held > 1 ? ` and ${held - 1} more` : '';
  const ids = holders.map(({ lock_id: id }) => id).join(', ');
  return [name, `${by}${more}`, `${waiting} waiting`, ...(ids === '' ? [] : [`(${ids})`])].join('\t');
}
