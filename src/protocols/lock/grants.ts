import { valueOf } from '../../envelope/byName.ts';
import type { LockType } from '../../envelope/lock.ts';
import type { Context, Outgoing } from '../protocol.ts';
import { grantFields } from './answers.ts';
import { byTurn, firstPlace, placeOf, KINDS, RIVALS, share, type Place } from './order.ts';
import { forgetRetries, mark } from './past.ts';
import type { Lock, LockState } from './state.ts';

type Config = Context['config'];

/** How many permits a resource has; undefined where it has none to give. */
export function permitsOf(config: Config, resource: string): number | undefined {
  const { permits } = config;
  if (typeof permits !== 'object' || permits === null || Array.isArray(permits)) return undefined;
  const count = valueOf(permits, resource);
  return typeof count === 'number' ? count : undefined;
}

/** How many locks of a kind are held on a resource, by agents and by rollbacks. */
export function heldOf({ holders }: LockState, resource: string, kind: LockType): number {
  return holders.rank({ resource, kind, n: Infinity }) - holders.rank({ resource, kind, n: 0 });
}

/** The first waiter of a kind on a resource. */
export function firstWaiter({ queue }: LockState, resource: string, kind: LockType): Place | undefined {
  const place = queue.first(firstPlace(resource, kind))?.[0];
  return place?.resource === resource && place.kind === kind ? place : undefined;
}

/** How many waiters of a kind have their turn on a resource before `place`, or at all. */
export function aheadOf({ queue }: LockState, resource: string, kind: LockType, place?: Place): number {
  const until = place ? { ...place, resource, kind } : { ...firstPlace(resource, kind), priority: Infinity };
  return queue.rank(until) - queue.rank(firstPlace(resource, kind));
}

/**
 * Whether a lock may be granted: on every one of its resources it is compatible with all that is held and with all waiters
 * whose turn is before its own. Of what its agent holds itself, `own`, only permits count.
 */
export function mayHave(state: LockState, lock: Lock, config: Config, own: readonly Lock[] = []): boolean {
  return lock.resources.every((resource) => {
    const place = placeOf(lock, resource);
    const { kind } = lock;
    const free = RIVALS[kind].every((rival) => {
      const mine = own.filter((held) => held.kind === rival && held.resources.includes(resource)).length;
      const first = firstWaiter(state, resource, rival);
      return heldOf(state, resource, rival) <= mine && (!first || byTurn(first, place) >= 0);
    });
    if (!free || kind !== 'permit') return free;
    return heldOf(state, resource, kind) + aheadOf(state, resource, kind, place) < (permitsOf(config, resource) ?? 0);
  });
}

/** What is no longer in the way: a lock that was held, or, with its place, one that waited. */
export interface Freed {
  readonly kind: LockType;
  readonly resource: string;
  readonly place?: Place;
}

/** What a lock frees when it goes. */
export function freedBy(lock: Lock): readonly Freed[] {
  const { kind } = lock;
  return lock.resources.map((resource) =>
    lock.phase === 'waiting' ? { kind, resource, place: placeOf(lock, resource) } : { kind, resource },
  );
}

/** The waiters that what was freed may have held up; whether they may be granted now is for who asks. */
function* heldUp(state: LockState, { kind, resource, place }: Freed, config: Config): Iterable<number> {
  for (const waiting of RIVALS[kind]) {
    // Of kinds that exclude themselves only the first can be next.
    if (!share(waiting, waiting)) {
      const first = firstWaiter(state, resource, waiting);
      if (first) yield first.n;
    } else yield* sharers(state, resource, waiting, config, place);
  }
  if (kind === 'permit') yield* sharers(state, resource, kind, config);
}

/** Readers, or takers of permits, that no rival holds up on this resource: those that come before the first rival, from a place on. */
function* sharers(state: LockState, resource: string, kind: LockType, config: Config, from?: Place): Iterable<number> {
  if (RIVALS[kind].some((rival) => heldOf(state, resource, rival) > 0)) return;
  const rivals = RIVALS[kind].flatMap((rival) => firstWaiter(state, resource, rival) ?? []);
  const [limit] = rivals.sort(byTurn);
  let left = kind === 'permit' ? (permitsOf(config, resource) ?? 0) - heldOf(state, resource, kind) : Infinity;
  // Permits are counted from the first waiter on.
  const start = from && kind !== 'permit' ? { ...from, kind } : firstPlace(resource, kind);
  for (const [place, n] of state.queue.entries(start)) {
    const past = place.resource !== resource || place.kind !== kind || (limit && byTurn(limit, place) < 0);
    if (past || left <= 0) return;
    left -= 1;
    yield n;
  }
}

/** A lock as it is once granted. */
export function granted(state: LockState, lock: Lock, now: number): { readonly state: LockState; readonly lock: Lock } {
  const token = state.token + 1;
  const held: Lock = { ...lock, phase: 'held', token, since: now, until: now + lock.lease_ms };
  const past = forgetRetries(state.past, () => mark(lock.agent, ...lock.resources));
  return { state: state.with({ token, past }), lock: held };
}

/** Grants what has become possible, in the order of turns: one terminal answer for each request that waited. */
export function settle(
  state: LockState,
  freed: readonly Freed[],
  { now, config }: Context,
): { readonly state: LockState; readonly emit: readonly Outgoing[] } {
  const numbers = new Set(freed.flatMap((each) => [...heldUp(state, each, config)]));
  const waiters = [...numbers].flatMap((n) => state.locks.get(n) ?? []);
  const emit: Outgoing[] = [];
  let next = state;
  for (const waiter of waiters.sort((a, b) => byTurn(placeOf(a, ''), placeOf(b, '')))) {
    if (!mayHave(next, waiter, config)) continue;
    const grant = granted(next, waiter, now);
    next = grant.state.replace(waiter, grant.lock);
    emit.push({
      type: 'lock.granted',
      to: waiter.agent,
      in_reply_to: waiter.id,
      request: waiter.key,
      ...grantFields(next.idOf(waiter), grant.lock),
    });
  }
  return { state: next, emit };
}

/** All that may have come free by more permits. */
export function moreByConfig(config: Config): readonly Freed[] {
  const { permits } = config;
  if (typeof permits !== 'object' || permits === null) return [];
  return Object.keys(permits).map((resource) => ({ kind: 'permit', resource }));
}

/** A lock's place in the queue it waits longest in, from 1. */
export function positionOf(state: LockState, lock: Lock): number {
  const places = lock.resources.map((resource) =>
    KINDS.reduce((sum, kind) => sum + aheadOf(state, resource, kind, placeOf(lock, resource)), 1),
  );
  return Math.max(...places);
}
