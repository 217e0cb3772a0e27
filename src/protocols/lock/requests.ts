import { toMilliseconds } from '../../envelope/fields.ts';
import { MAX_ENVELOPE_BYTES, utf8Bytes } from '../../envelope/limits.ts';
import { serves, type LockMessage, type LockType } from '../../envelope/lock.ts';
import { refusal, type Refusal } from '../../envelope/refusal.ts';
import type { Context, Decision, Verdict } from '../protocol.ts';
import { ROLLBACK, tokensOf } from './answers.ts';
import { firstWaiter, granted, mayHave, permitsOf, positionOf } from './grants.ts';
import { byTurn, placeOf, RIVALS, share } from './order.ts';
import { mark, takeCancel, wasCancelled } from './past.ts';
import { noLocks, type Lock, type LockState } from './state.ts';

export type LockRequest = Extract<LockMessage, { type: 'lock.request' }>;

/** A grant has room for this much beside its tokens, the agent, and the id and key of its request; in revision 1 beside its tokens. */
const GRANT_BYTES = 512;
const GRANT_BYTES_1 = 1024;
/** Who is in the way is named so far. */
const MAX_BLOCKERS = 3;

/** The key by which a request is known to its sender. */
export function keyOf(message: { readonly id: string; readonly idempotency_key?: string | undefined }): string {
  return message.idempotency_key ?? message.id;
}

/** Grants a request, queues it, or denies it; the rules are in the wire contract's section "Locks". */
export function request(state: LockState, message: LockRequest, context: Context): Decision<LockState> {
  const { now, config } = context;
  const fault = faultOf(message, context);
  if (fault) return { refuse: fault };
  const key = keyOf(message);
  const taken = takeCancel(state.past, () => mark(message.from, key), now, context.revision >= 2);
  if (taken.cancelled) return { state: state.with({ past: taken.past }), verdict: ['cancelled', null, key] };

  const mine = [...state.of(message.from)];
  const same = mine.find(
    (lock) => lock.phase === 'held' && sameSet(lock, message) && serves(lock.kind, message.lock_type),
  );
  if (same) return { state, verdict: grantVerdict(state, same), quiet: true };

  const lock = lockFrom(state, message, now);
  const touching = mine.filter(({ resources }) => resources.some((each) => message.resources.includes(each)));
  const inOwnWay = touching.some(({ phase, kind }) => phase === 'waiting' && conflicts(kind, lock.kind));
  const own = touching.filter(({ phase }) => phase === 'held');
  const next = state.with({ past: taken.past, issued: lock.n });
  if (!inOwnWay && mayHave(state, lock, config, own)) {
    const grant = granted(next, lock, now);
    const after = grant.state.add(grant.lock);
    return { state: after, verdict: grantVerdict(after, grant.lock) };
  }
  // Behind what it holds itself it would wait for itself.
  if (inOwnWay || own.length > 0) return { state, verdict: ['denied', 'held'], quiet: true };
  if (message.wait_seconds === 0) return { state, verdict: ['denied', 'busy'], quiet: true };
  const after = next.add(lock);
  return { state: after, verdict: queuedVerdict(after, lock, config) };
}

/** What was decided about a request, as far as its lock still shows it: it waits, or is held. */
export function known(state: LockState, message: LockMessage, context: Context): Verdict | 'other' | undefined {
  if (message.type !== 'lock.request') return undefined;
  const key = keyOf(message);
  const lock = requested(state, message.from, key);
  if (!lock)
    return wasCancelled(state.past, () => mark(message.from, key), context.now) ? ['cancelled', null, key] : undefined;
  if (!isOf(lock, message)) return 'other';
  return lock.phase === 'held' ? grantVerdict(state, lock) : queuedVerdict(state, lock, context.config);
}

/** The lock that an agent's request waits for or was granted. */
export function requested(state: LockState, agent: string, key: string | undefined): Lock | undefined {
  for (const lock of state.of(agent)) if (lock.key === key) return lock;
  return undefined;
}

/** Whether a lock is of a request with the same body. */
function isOf(lock: Lock, message: LockRequest): boolean {
  const asked = lockFrom(noLocks, message, lock.since);
  const same = lock.kind === asked.kind && lock.priority === asked.priority && lock.scope === asked.scope;
  const sameWait = lock.phase === 'held' || lock.until === asked.until;
  return same && sameWait && lock.lease_ms === asked.lease_ms && sameSet(lock, message);
}

function queuedVerdict(state: LockState, lock: Lock, config: Context['config']): Verdict {
  return ['queued', state.idOf(lock), positionOf(state, lock), ...blockersOf(state, lock, config)];
}

function lockFrom(state: LockState, message: LockRequest, now: number): Lock {
  return {
    n: state.issued + 1,
    phase: 'waiting',
    agent: message.from,
    kind: message.lock_type,
    resources: message.resources,
    id: message.id,
    key: keyOf(message),
    priority: message.priority,
    scope: message.scope ?? 0,
    lease_ms: toMilliseconds(message.lease_seconds),
    since: now,
    until: now + toMilliseconds(message.wait_seconds),
    token: 0,
  };
}

function grantVerdict(state: LockState, lock: Lock): Verdict {
  return ['granted', state.idOf(lock), lock.token, lock.lease_ms, lock.until];
}

function sameSet({ resources }: Lock, message: LockRequest): boolean {
  return resources.length === message.resources.length && resources.every((each, i) => each === message.resources[i]);
}

function conflicts(waiting: Lock['kind'], wanted: Lock['kind']): boolean {
  return !share(waiting, wanted) || wanted === 'permit';
}

function faultOf(message: LockRequest, { config, revision }: Context): Refusal | undefined {
  const { resources, lock_type: kind } = message;
  const without = kind === 'permit' ? resources.find((each) => permitsOf(config, each) === undefined) : undefined;
  if (without !== undefined)
    return refusal(
      'invalid_envelope',
      `resources holds "${without}", which has no permits in config.permits: an operator sets them by config.set`,
    );
  const tokens = utf8Bytes(JSON.stringify(tokensOf(resources, Number.MAX_SAFE_INTEGER)));
  const rest =
    revision < 2 ? GRANT_BYTES_1 : GRANT_BYTES + utf8Bytes(JSON.stringify([message.from, message.id, keyOf(message)]));
  return tokens + rest > MAX_ENVELOPE_BYTES
    ? refusal('over_limit', `resources are too long: a grant of them would pass ${MAX_ENVELOPE_BYTES} bytes`)
    : undefined;
}

/** Who is in the way: the holders, or else the waiters whose turn is first. */
function blockersOf(state: LockState, lock: Lock, config: Context['config']): string[] {
  const names = new Set<string>();
  const ways = lock.resources.flatMap((resource) =>
    inTheWay(state, lock, resource, config).map((kind) => ({ resource, kind })),
  );
  for (const { resource, kind } of ways) {
    for (const [holder, n] of state.holders.entries({ resource, kind, n: 0 })) {
      if (holder.resource !== resource || holder.kind !== kind || names.size === MAX_BLOCKERS) break;
      const held = state.locks.get(n);
      if (held) names.add(held.phase === 'held' ? held.agent : ROLLBACK);
    }
  }
  if (names.size > 0) return [...names];
  for (const { resource, kind } of ways) {
    const first = firstWaiter(state, resource, kind);
    const waiter = first && byTurn(first, placeOf(lock, resource)) < 0 ? state.locks.get(first.n) : undefined;
    if (waiter && names.size < MAX_BLOCKERS) names.add(waiter.agent);
  }
  return [...names];
}

/** The kinds of which a lock on a resource can be in the way. */
function inTheWay(state: LockState, lock: Lock, resource: string, config: Context['config']): LockType[] {
  const full = lock.kind === 'permit' && !mayHave(state, { ...lock, resources: [resource] }, config);
  return [...RIVALS[lock.kind], ...(full ? [lock.kind] : [])];
}
