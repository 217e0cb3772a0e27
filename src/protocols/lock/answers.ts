import { fromNames, type ByName } from '../../envelope/byName.ts';
import { formatTimestamp, type Json } from '../../envelope/fields.ts';
import { MAX_LISTED_NAMES, utf8Bytes } from '../../envelope/limits.ts';
import type { LockMessage } from '../../envelope/lock.ts';
import type { Outgoing, Verdict } from '../protocol.ts';
import { endOf } from './past.ts';
import type { Lock, LockState } from './state.ts';

/** Who holds the resources of a lost lock while its rollback runs. */
export const ROLLBACK = 'synod:rollback';
/** What `held` and `busy` advise to wait before asking again, in seconds. */
const SOON_SECONDS = 1;
/** Names that an envelope lists twice, as resources and with their tokens, must leave room for the rest of it. */
const MAX_TWICE_BYTES = 7 * 1024;

type Fields = { [field: string]: Json };

export function leaseFields(ms: number, until: number): { lease_seconds: number; lease_expires_at: string } {
  return { lease_seconds: ms / 1000, lease_expires_at: formatTimestamp(until) };
}

export function tokensOf(resources: readonly string[], token: number): ByName<number> {
  return fromNames(resources.map((resource) => [resource, token]));
}

/** What a grant has: the lock's id, a token for each resource, the lease. */
export function grantFields(
  id: string,
  { resources, token, lease_ms: ms, until }: Pick<Lock, 'resources' | 'token' | 'lease_ms' | 'until'>,
): Fields {
  return { lock_id: id, tokens: tokensOf(resources, token), ...leaseFields(ms, until) };
}

/** Which resources, and their tokens; names too long to be listed twice are listed once, with their tokens. */
export function lostFields({ resources, token }: Lock): Fields {
  const tokens = tokensOf(resources, token);
  return utf8Bytes(JSON.stringify(resources)) > MAX_TWICE_BYTES
    ? { tokens, omitted: ['resources'] }
    : { resources: [...resources], tokens };
}

/** A wait that ended with nothing, and what the agent lost with it. */
export function timedOut(
  id: string,
  key: string,
  retry: number,
  released: readonly string[],
  count: number = released.length,
): Fields {
  return {
    lock_id: id,
    request: key,
    reason: 'timeout',
    released: released.slice(0, MAX_LISTED_NAMES),
    ...(count > Math.min(released.length, MAX_LISTED_NAMES) ? { released_count: count } : {}),
    retry,
    // Those who time out together come back together: each round waits longer.
    retry_after_seconds: 2 ** (retry - 1),
  };
}

/** The replies that a verdict stands for. */
export function answer(message: LockMessage, verdict: Verdict): readonly Outgoing[] {
  const to = message.from;
  const [kind, ...parts] = verdict;
  const [id = ''] = parts.slice(0, 1).map(String);
  switch (kind) {
    case 'granted': {
      if (message.type !== 'lock.request') return [];
      const [token, lease_ms, until] = parts.slice(1).map(Number) as [number, number, number];
      return [
        { type: 'lock.granted', to, ...grantFields(id, { resources: message.resources, token, lease_ms, until }) },
      ];
    }
    case 'queued': {
      const [, position, ...blockers] = parts;
      return [{ type: 'lock.queued', to, lock_id: id, position: Number(position), blocked_by: blockers.map(String) }];
    }
    case 'denied':
      return [{ type: 'lock.denied', to, reason: id, released: [], retry: 0, retry_after_seconds: SOON_SECONDS }];
    case 'renewed':
      return [{ type: 'lock.renewed', to, lock_id: id, ...leaseFields(Number(parts[1]), Number(parts[2])) }];
    case 'released':
      return [{ type: 'lock.released', to, lock_id: id }];
    case 'cancelled':
      return [
        {
          type: 'lock.cancelled',
          to,
          ...(parts[0] === null ? {} : { lock_id: id }),
          request: String(parts[1]),
        },
      ];
    default:
      return [];
  }
}

/** What became of a request since it was answered; of an end that nobody remembers, that the lock is lost. */
export function since(state: LockState, message: LockMessage, verdict: Verdict): readonly Outgoing[] {
  const [kind, ...parts] = verdict;
  if (message.type !== 'lock.request' || (kind !== 'granted' && kind !== 'queued')) return [];
  const to = message.from;
  const id = String(parts[0]);
  const lock = state.lockOf(id);
  if (lock?.phase === 'waiting') return [];
  if (lock?.phase === 'held') {
    if (kind === 'queued') return [{ type: 'lock.granted', to, request: lock.key, ...grantFields(id, lock) }];
    const [, , , first] = parts;
    return lock.until === first
      ? []
      : [{ type: 'lock.renewed', to, lock_id: id, ...leaseFields(lock.lease_ms, lock.until) }];
  }
  const request = message.idempotency_key ?? message.id;
  const past = endOf(state.past, Number(id.slice(state.prefix.length)));
  switch (past?.end) {
    case 'released':
      return [{ type: 'lock.released', to, lock_id: id }];
    case 'cancelled':
      return [{ type: 'lock.cancelled', to, lock_id: id, request }];
    case 'denied': {
      const also = past.also.map((n) => state.idOf({ n }));
      return [{ type: 'lock.denied', to, ...timedOut(id, request, past.retry, also, past.count) }];
    }
    default:
      return [{ type: 'lock.expired', to, lock_id: id, holder: to, resources: [...message.resources] }];
  }
}
