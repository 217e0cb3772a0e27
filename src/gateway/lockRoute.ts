import type { Hub } from '../client/hub.ts';
import { lockTarget } from '../client/locks/shards.ts';
import { locksTarget } from '../client/targets.ts';
import type { Target } from '../envelope/address.ts';
import type { LockMessage } from '../envelope/lock.ts';
import { shardOfLock } from '../envelope/shards.ts';

/**
 * The lock manager that a message is for, where a room has several: a request's resources tell, and later the lock's id.
 * @throws SynodError `invalid_envelope` where the resources do not share one.
 */
export async function lockRoute(hub: Hub, room: string, message: LockMessage): Promise<Target> {
  if (message.type === 'lock.request') return await lockTarget(hub, room, message.resources);
  return locksTarget(room, message.lock_id === undefined ? undefined : shardOfLock(message.lock_id));
}
