import { formatTimestamp, type Json } from '../../envelope/fields.ts';
import { locksQuery, type LockRow } from '../../envelope/lock.ts';
import { explain, parseErrors, SynodError } from '../../envelope/refusal.ts';
import type { Lock, LockState } from './state.ts';

const STATUS = { waiting: 'waiting', held: 'held', pending: 'rolling_back', rolling: 'rolling_back' } as const;

/**
 * A page of all that is held and waited for, the oldest request first; without a `next` it is the last.
 * @throws SynodError `invalid_envelope` naming the field of the query.
 */
export function pageOf(state: LockState, query: unknown): { [field: string]: Json } {
  const { data, error } = locksQuery.safeParse(query, parseErrors);
  if (!data) throw new SynodError('invalid_envelope', explain(error, 'query'));
  const after = data.after === undefined ? 0 : state.numberOf(data.after);
  if (after === undefined) throw new SynodError('invalid_envelope', 'after must be the next of a page');
  const rows: { [field: string]: Json }[] = [];
  for (const lock of data.agent === undefined ? locksAfter(state, after) : state.of(data.agent, after)) {
    if (data.resource !== undefined && !lock.resources.includes(data.resource)) continue;
    const row = rowOf(state, lock);
    if (!row) continue;
    // One more begins the next page.
    if (rows.length === data.limit) return { rows, next: rows.at(-1)?.['lock_id'] ?? '' };
    rows.push(row);
  }
  return { rows };
}

function* locksAfter({ locks }: LockState, after: number): Generator<Lock> {
  for (const [, lock] of locks.entries(after + 1)) yield lock;
}

/** Undefined for a lock that holds nothing any more. */
function rowOf(state: LockState, lock: Lock): LockRow | undefined {
  if (lock.phase === 'owed') return undefined;
  return {
    lock_id: state.idOf(lock),
    status: STATUS[lock.phase],
    lock_type: lock.kind,
    agent: lock.agent,
    resources: [...lock.resources],
    since: formatTimestamp(lock.since),
    ends_at: formatTimestamp(lock.until),
    ...(lock.phase === 'waiting' ? {} : { token: lock.token }),
  };
}
