import { toMilliseconds } from '../../envelope/fields.ts';
import type { LockMessage } from '../../envelope/lock.ts';
import { refusal, type Refusal } from '../../envelope/refusal.ts';
import type { Context, Decision } from '../protocol.ts';
import { lose, startRollbacks } from './expiry.ts';
import { freedBy, settle } from './grants.ts';
import { mark, noteCancel, noteEnd, type End } from './past.ts';
import { requested } from './requests.ts';
import type { Lock, LockState } from './state.ts';

type Of<Type extends LockMessage['type']> = Extract<LockMessage, { type: Type }>;

function notHolder(id: string, why: string): { readonly refuse: Refusal } {
  return { refuse: refusal('not_holder', `${id} ${why}`) };
}

/** Why an agent may not act on a lock as its holder. */
function notHeldBy(state: LockState, id: string, agent: string): { readonly refuse: Refusal } {
  const lock = state.lockOf(id);
  if (!lock) return notHolder(id, 'is held by nobody');
  if (lock.agent !== agent) return notHolder(id, `is of ${lock.agent}`);
  return notHolder(id, lock.phase === 'waiting' ? 'still waits: it can be cancelled' : 'has expired');
}

export function renew(state: LockState, message: Of<'lock.renew'>, { now }: Context): Decision<LockState> {
  const lock = state.lockOf(message.lock_id);
  if (lock?.phase !== 'held' || lock.agent !== message.from) return notHeldBy(state, message.lock_id, message.from);
  const ms = message.lease_seconds === undefined ? lock.lease_ms : toMilliseconds(message.lease_seconds);
  const until = now + ms;
  return {
    state: state.replace(lock, { ...lock, until }),
    verdict: ['renewed', message.lock_id, ms, until],
    quiet: true,
  };
}

export function release(state: LockState, message: Of<'lock.release'>, context: Context): Decision<LockState> {
  const lock = state.lockOf(message.lock_id);
  if (lock?.phase !== 'held' || lock.agent !== message.from) return notHeldBy(state, message.lock_id, message.from);
  return { ...settle(ended(state, lock, 'released'), freedBy(lock), context), verdict: ['released', message.lock_id] };
}

/** Takes a request back: while it waits, after its grant, or before it has come. */
export function cancel(state: LockState, message: Of<'lock.cancel'>, context: Context): Decision<LockState> {
  const { from, lock_id: id, request: key } = message;
  const lock = id === undefined ? requested(state, from, key) : state.lockOf(id);
  if (lock?.agent === from && lock.phase === 'waiting') {
    const verdict = ['cancelled', state.idOf(lock), lock.key] as const;
    return { ...settle(ended(state, lock, 'cancelled'), freedBy(lock), context), verdict };
  }
  if (lock?.agent === from && lock.phase === 'held') {
    // Its terminal answer was the grant; what the cancel still can do is to give it back.
    const verdict = ['released', state.idOf(lock)] as const;
    return { ...settle(ended(state, lock, 'released'), freedBy(lock), context), verdict };
  }
  if (id !== undefined) return notHeldBy(state, id, from);
  if (key === undefined || context.decided(from, key))
    return notHolder('request', `"${key ?? ''}" of ${from} neither waits nor holds anything`);
  return {
    state: state.with({ past: noteCancel(state.past, mark(from, key), context.now) }),
    verdict: ['cancelled', null, key],
  };
}

/** An operator ends a lock, as its expiry would; of one that is lost already, the rollback's time. */
export function forceRelease(
  state: LockState,
  message: Of<'lock.force_release'>,
  context: Context,
): Decision<LockState> {
  const lock = state.lockOf(message.lock_id);
  if (!lock || lock.phase === 'waiting' || lock.phase === 'owed')
    return notHolder(message.lock_id, lock?.phase === 'waiting' ? 'still waits: nothing is held' : 'is held by nobody');
  if (lock.phase !== 'held') {
    const freed = lock.phase === 'rolling' ? state.remove(lock) : state.replace(lock, { ...lock, phase: 'owed' });
    return { ...settle(freed, freedBy(lock), context), verdict: ['forced'] };
  }
  const lost = lose(state, lock, context, { reason: message.reason, by: message.from });
  const started = startRollbacks(lost.state, context);
  const settled = settle(started.state, lost.freed, context);
  return {
    state: settled.state,
    verdict: ['forced'],
    emit: [...lost.emit, ...settled.emit],
    effects: started.effects,
  };
}

/** Without a lock, whose end is remembered for whoever asks again. */
function ended(state: LockState, lock: Lock, end: End): LockState {
  const without = state.remove(lock);
  return without.with({ past: noteEnd(without.past, lock.n, end) });
}
