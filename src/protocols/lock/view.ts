import { formatTimestamp, type Json } from '../../envelope/fields.ts';
import { clock, plain } from '../../envelope/plain.ts';
import { ROLLBACK } from './answers.ts';
import { aheadOf, heldOf } from './grants.ts';
import { byTurn, firstPlace, KINDS, placeOf } from './order.ts';
import type { Lock, LockState } from './state.ts';

/** Locks and waiters that the view shows in all, and of one resource. */
const MAX_SHOWN = 1_000;
const MAX_SHOWN_EACH = 50;
/** Resources that an operator's page names. */
const MAX_DETAILED = 10;

type Fields = { [field: string]: Json };

/** Who holds what, who waits for what and since when, by resource, those most waited for first. */
export function viewOf(state: LockState): Fields {
  const byResource = new Map<string, { holders: Lock[]; queue: Lock[] }>();
  const counts = { held: 0, waiting: 0, rolling_back: 0 };
  for (const [, lock] of state.locks.entries()) {
    if (lock.phase === 'waiting') counts.waiting += 1;
    else if (lock.phase === 'held') counts.held += 1;
    else counts.rolling_back += 1;
    if (lock.phase === 'owed') continue;
    for (const resource of lock.resources) {
      const entry = byResource.get(resource) ?? { holders: [], queue: [] };
      byResource.set(resource, entry);
      (lock.phase === 'waiting' ? entry.queue : entry.holders).push(lock);
    }
  }
  let room = MAX_SHOWN;
  const resources: Fields[] = [];
  const sorted = [...byResource].sort(
    ([a, one], [b, other]) => other.queue.length - one.queue.length || (a < b ? -1 : 1),
  );
  for (const [resource, { holders, queue }] of sorted) {
    if (room <= 0) break;
    const shownHolders = holders.slice(0, MAX_SHOWN_EACH);
    const shownQueue = queue.sort((a, b) => byTurn(placeOf(a, ''), placeOf(b, ''))).slice(0, MAX_SHOWN_EACH);
    room -= shownHolders.length + shownQueue.length;
    resources.push({
      resource,
      holders: shownHolders.map((lock) => shown(state, lock)),
      holders_count: holders.length,
      queue: shownQueue.map((lock) => shown(state, lock)),
      queue_count: queue.length,
    });
  }
  return {
    ...counts,
    last_token: state.token,
    resources,
    resources_count: byResource.size,
    retries_counted: state.past.retries.length,
    cancels_remembered: state.past.cancels.length,
  };
}

function shown(state: LockState, lock: Lock): Fields {
  const common = { lock_id: state.idOf(lock), lock_type: lock.kind, since: formatTimestamp(lock.since) };
  const until = formatTimestamp(lock.until);
  if (lock.phase === 'waiting') return { ...common, agent: lock.agent, priority: lock.priority, wait_ends_at: until };
  if (lock.phase === 'held') return { ...common, holder: lock.agent, token: lock.token, lease_expires_at: until };
  return { ...common, holder: ROLLBACK, token: lock.token, lost_by: lock.agent, rollback_ends_at: until };
}

/** Some resources, by name: shown at every change, so it must not cost more with more waiters. */
export function detailsOf(state: LockState): string {
  const waiting = state.waits.size;
  const lost = state.unstarted.size;
  const held = state.locks.size - waiting;
  const lines: string[] = [];
  let next = state.holders.first()?.[0];
  while (next && lines.length < MAX_DETAILED) {
    lines.push(detailOf(state, next.resource));
    next = state.holders.first({ resource: `${next.resource}\u0000`, kind: 'exclusive', n: 0 })?.[0];
  }
  return [
    `${held} held, ${waiting} waiting. The last token is ${state.token}.`,
    ...(lost > 0 ? [`${lost} rollbacks are still to be started.`] : []),
    ...lines,
    ...(next ? ['More resources are held: the view shows them.'] : []),
  ].join('\n');
}

function detailOf(state: LockState, resource: string): string {
  const parts = KINDS.flatMap((kind) => {
    const count = heldOf(state, resource, kind);
    const first = state.holders.first({ resource, kind, n: 0 });
    const lock = first && count > 0 ? state.locks.get(first[1]) : undefined;
    if (!lock) return [];
    const who = lock.phase === 'held' ? lock.agent : `the rollback of ${lock.agent}`;
    const others = count > 1 ? ` and ${count - 1} more` : '';
    return [`${kind} by ${who}${others} since ${clock(lock.since)}`];
  });
  const queued = KINDS.reduce((sum, kind) => sum + aheadOf(state, resource, kind), 0);
  const firsts = KINDS.flatMap((kind) => {
    const found = state.queue.first(firstPlace(resource, kind))?.[0];
    return found?.resource === resource ? [found.at] : [];
  });
  const waits = queued > 0 ? `; ${queued} waiting, the next since ${clock(Math.min(...firsts))}` : '';
  return `"${plain(resource)}": ${parts.join(', ')}${waits}.`;
}
