import type { SharedConnection } from '../client/connection/sharedConnection.ts';
import { lockTarget, shardCount } from '../client/locks/shards.ts';
import { locksTarget } from '../envelope/targets.ts';
import type { Target } from '../envelope/address.ts';
import type { LockMessage } from '../envelope/lock.ts';
import { SynodError } from '../envelope/refusal.ts';
import { lockManagerId, shardOfLock } from '../envelope/shards.ts';

/**
 * The lock manager that a message is for, where a room has several: found by a request's resources, and later by the lock's id.
 * @throws SynodError `invalid_envelope` where the resources do not share one, or where the message names neither.
 */
export async function lockRoute(connection: SharedConnection, room: string, message: LockMessage): Promise<Target> {
  if (message.type === 'lock.request') return await lockTarget(connection, room, message.resources);
  if (message.lock_id !== undefined) return locksTarget(room, shardOfLock(message.lock_id));
  const count = await shardCount(connection, room);
  if (count === 1) return locksTarget(room);
  throw new SynodError(
    'invalid_envelope',
    `request does not show which of the ${count} shards of ${lockManagerId(room)} it went to: cancel by lock_id; ` +
      'sent again under its idempotency_key, the request is answered with that',
  );
}
