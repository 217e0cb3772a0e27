import { refusal, type Refusal } from '../../envelope/refusal.ts';
import type { LockMessage } from '../../envelope/lock.ts';
import { lockIdPrefix, lockManagerId, shardOf, shardOfManager } from '../../envelope/shards.ts';
import type { Context } from '../protocol.ts';

/** What the ids of this manager's locks begin with. */
export function prefixOf({ workflowId, room }: Context): string {
  return lockIdPrefix(shardOfManager(room, workflowId));
}

/** Why a message is at the wrong one of a room's lock managers; undefined where it is at the right one. */
export function misplaced(message: LockMessage, context: Context): Refusal | undefined {
  const { room, workflowId, config } = context;
  const own = shardOfManager(room, workflowId);
  const shards = typeof config['shards'] === 'number' ? config['shards'] : 1;
  if (own === undefined && shards === 1) return undefined;
  if (own !== undefined && own >= shards)
    return refusal('invalid_envelope', `config.shards is ${shards}: ${workflowId} is none of the room's lock managers`);
  if (message.type !== 'lock.request') {
    return own === undefined
      ? refusal(
          'invalid_envelope',
          `${idField(message)} is of a shard: send it to ${lockManagerId(room)}:{shard}, of ${shards}`,
        )
      : undefined;
  }
  const [first = '', ...rest] = message.resources;
  const shard = shardOf(first, shards);
  const stray = rest.find((each) => shardOf(each, shards) !== shard);
  if (stray !== undefined) {
    return refusal(
      'invalid_envelope',
      `resources must share a shard: "${first}" is in shard ${shard} and "${stray}" in ${shardOf(stray, shards)} of ${shards}; ` +
        'the same {tag} in both names puts them together',
    );
  }
  return shard === own
    ? undefined
    : refusal('invalid_envelope', `resources are in shard ${shard} of ${shards}: ask ${lockManagerId(room, shard)}`);
}

function idField(message: LockMessage): string {
  return 'lock_id' in message && message.lock_id !== undefined ? 'lock_id' : 'request';
}
