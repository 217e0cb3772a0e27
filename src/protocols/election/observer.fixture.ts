import type { Envelope } from '../../envelope/envelope.ts';

/** What must hold of an election, whatever comes in whatever order. */
export const PROPERTIES = [
  'one coordinator an epoch',
  'epochs strictly rise',
  'only the coordinator acts, in its epoch and time',
  'only the active win',
  'the lowest active id wins',
  'an active coordinator is never deposed',
  'somebody leads while anybody is active',
  'every deadline progresses',
  'a repeat gets its first reply and changes nothing',
] as const;
export type Property = (typeof PROPERTIES)[number];

/** What an observer knows who only reads what is logged, not the state. Times are epoch milliseconds. */
export interface Seen {
  /** The highest epoch elected. */
  readonly epoch: number;
  readonly leader: { readonly coordinator: string; readonly heartbeatAt: number } | null;
  /** When each candidate was last active. */
  readonly active: { readonly [candidate: string]: number };
  /** Who was elected in each epoch. */
  readonly elected: { readonly [epoch: number]: string };
}

export const NOTHING_SEEN: Seen = { epoch: 0, leader: null, active: {}, elected: {} };

const BY_COORDINATOR = new Set(['coordinator.heartbeat', 'coordinator.directive', 'coordinator.resign']);

/** Who of those that were seen is active at a time, the lowest id first; `lapseMs` are three heartbeats. */
export function activeAt({ active }: Seen, now: number, lapseMs: number): string[] {
  return Object.keys(active)
    .filter((candidate) => (active[candidate] ?? Number.NaN) + lapseMs > now)
    .sort((a, b) => (a < b ? -1 : 1));
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/**
 * Follows the log of an election, and the replies that are not logged (of heartbeats and repeated joins), and names the
 * properties that what it reads breaks. An accepted heartbeat is read as the message that it answers.
 */
export function observe(seen: Seen, envelope: Envelope, now: number, lapseMs: number): [Seen, Property[]] {
  const broken: Property[] = [];
  const { type, from } = envelope;
  const epoch = Number(envelope['epoch']);
  const { leader } = seen;
  let next = seen;
  const active = leader !== null && now < leader.heartbeatAt + lapseMs;
  if (BY_COORDINATOR.has(type)) {
    if (!active || leader.coordinator !== from || epoch !== seen.epoch)
      broken.push('only the coordinator acts, in its epoch and time');
    if (type === 'coordinator.heartbeat' && leader)
      next = { ...seen, leader: { ...leader, heartbeatAt: now }, active: { ...seen.active, [from]: now } };
  } else if (type === 'coordinator.joined') {
    next = { ...seen, active: { ...seen.active, [text(envelope.to)]: now } };
  } else if (type === 'coordinator.elected') {
    const winner = text(envelope['coordinator']);
    const candidates = activeAt(seen, now, lapseMs);
    if (leader) broken.push('an active coordinator is never deposed');
    if (epoch <= seen.epoch) broken.push('epochs strictly rise');
    if ((seen.elected[epoch] ?? winner) !== winner) broken.push('one coordinator an epoch');
    if (!candidates.includes(winner)) broken.push('only the active win');
    else if (winner !== candidates[0]) broken.push('the lowest active id wins');
    next = {
      ...seen,
      epoch: Math.max(epoch, seen.epoch),
      leader: { coordinator: winner, heartbeatAt: now },
      elected: { ...seen.elected, [epoch]: winner },
    };
  } else if (type === 'coordinator.lost') {
    if (leader === null || active) broken.push('an active coordinator is never deposed');
    next = { ...seen, leader: null };
  } else if (type === 'coordinator.resigned' || type === 'coordinator.left') {
    const gone = text(type === 'coordinator.left' ? envelope.to : envelope['coordinator']);
    const { [gone]: _gone, ...active } = seen.active;
    next = { ...seen, leader: leader?.coordinator === gone ? null : leader, active };
  }
  return [next, broken];
}
