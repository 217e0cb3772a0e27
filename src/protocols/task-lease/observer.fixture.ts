import type { Envelope } from '../../envelope/envelope.ts';
import { parseTimestamp } from '../../envelope/fields.ts';

/** What must hold of a task lease, whatever comes in whatever order. */
export type Property =
  | 'one holder at a time'
  | 'the token only rises'
  | 'at most one outcome'
  | 'only the holder in time'
  | 'no early expiry'
  | 'every deadline progresses'
  | 'a repeat changes nothing'
  | 'nothing acknowledged is lost';

/** What an observer knows who only reads what is said: no look into the state. */
export interface Seen {
  /** The highest attempt announced, and the highest granted. */
  readonly announced: number;
  readonly granted: number;
  /** The grant that nobody has ended yet. */
  readonly grant: { readonly holder: string; readonly attempt: number; readonly expires: number } | null;
  readonly outcome: string | null;
}

export const NOTHING_SEEN: Seen = { announced: 0, granted: 0, grant: null, outcome: null };

const OUTCOMES = new Set(['task.completed', 'task.failed', 'task.cancelled']);
const BY_HOLDER = new Set(['task.complete', 'task.fail', 'task.release']);

/**
 * Follows the log of a task, and the replies that are not logged (renewals; `said` is who asked), and names the
 * properties that what it reads breaks.
 */
export function observe(seen: Seen, envelope: Envelope, now: number, said?: { from: string }): [Seen, Property[]] {
  const broken: Property[] = [];
  const attempt = Number(envelope['attempt']);
  const until = envelope['lease_expires_at'];
  const expires = typeof until === 'string' ? (parseTimestamp(until) ?? Number.NaN) : Number.NaN;
  const { type } = envelope;
  let next = seen;
  function holds(agent: string): boolean {
    return seen.grant?.holder === agent && seen.grant.attempt === attempt && now < seen.grant.expires;
  }
  if (type === 'task.announce') {
    // The producer's own has the number noted; a repeated attempt is announced again under the same one.
    if (attempt < seen.announced || attempt < seen.granted) broken.push('the token only rises');
    next = { ...seen, announced: Math.max(seen.announced, attempt) };
  } else if (type === 'task.ack') {
    if (seen.grant) broken.push('one holder at a time');
    if (attempt <= seen.granted) broken.push('the token only rises');
    if (seen.outcome !== null) broken.push('at most one outcome');
    next = {
      ...seen,
      granted: Math.max(seen.granted, attempt),
      grant: { holder: String(envelope.to), attempt, expires },
    };
  } else if (type === 'task.renewed') {
    if (!said || !holds(said.from)) broken.push('only the holder in time');
    else if (seen.grant) next = { ...seen, grant: { ...seen.grant, expires } };
  } else if (BY_HOLDER.has(type)) {
    if (!holds(envelope.from)) broken.push('only the holder in time');
    next = { ...seen, grant: null };
  } else if (type === 'task.expired') {
    if (seen.grant?.attempt !== attempt || now < seen.grant.expires) broken.push('no early expiry');
    next = { ...seen, grant: null };
  } else if (OUTCOMES.has(type)) {
    if (seen.outcome !== null) broken.push('at most one outcome');
    next = { ...seen, outcome: type, grant: null };
  }
  return [next, broken];
}
