import { toMilliseconds, type Json } from '../../envelope/fields.ts';
import { MAX_EFFECT_BYTES, utf8Bytes } from '../../envelope/limits.ts';
import { MAX_LOCK_RETRIES } from '../../envelope/lock.ts';
import {
  putOff,
  type Absence,
  type Context,
  type Decision,
  type Effect,
  type Input,
  type Outgoing,
} from '../protocol.ts';
import { lostFields, timedOut, tokensOf } from './answers.ts';
import { freedBy, settle, type Freed } from './grants.ts';
import { countRetry, forgetRetries, mark, noteEnd } from './past.ts';
import type { Lock, LockState } from './state.ts';

const DEFAULT_ROLLBACK_SECONDS = 10;
/** What a key and a name add to the JSON of an effect at most, in bytes. */
const EFFECT_FRAME_BYTES = 200;
const MAX_DETAIL = 500;

/** What happens beside each other at one instant, before anything is granted anew. */
interface Step {
  readonly state: LockState;
  readonly freed: readonly Freed[];
  readonly emit: readonly Outgoing[];
  readonly effects: readonly Effect[];
}

/** Everything whose time has come. A wait that has ended gets no lock that comes free at the same instant. */
export function onDeadline(state: LockState, context: Context): Decision<LockState> {
  const waits = due(state, 'waits', context.now);
  let next = waits.reduce((sum, lock) => sum.remove(lock), state);
  const steps: Step[] = [];
  const take = (step: Step) => {
    steps.push(step);
    next = step.state;
  };
  for (const lock of waits) take(waitEnded(next, lock, context));
  for (const lock of due(next, 'ends', context.now)) take(holdEnded(next, lock, context));
  const started = startRollbacks(next, context);
  const freed = [...waits.flatMap(freedBy), ...steps.flatMap((step) => step.freed)];
  const settled = settle(started.state, freed, context);
  return {
    state: settled.state,
    emit: [...steps.flatMap(({ emit }) => emit), ...settled.emit],
    effects: [...steps.flatMap(({ effects }) => effects), ...started.effects],
  };
}

function due(state: LockState, what: 'waits' | 'ends', now: number): Lock[] {
  const found: Lock[] = [];
  for (const [{ at }, n] of state[what].entries()) {
    if (at > now) break;
    const lock = state.locks.get(n);
    if (lock) found.push(lock);
  }
  return found;
}

/** The 10-second rule: who has waited in vain gives up all that it holds here, so that no two wait for each other. */
function waitEnded(state: LockState, lock: Lock, context: Context): Step {
  const { now } = context;
  const { agent, resources } = lock;
  const released = [...state.of(agent)].filter(({ phase }) => phase === 'held');
  let next = state;
  for (const held of released) {
    const without = next.remove(held);
    next = without.with({ past: noteEnd(without.past, held.n, 'released') });
  }
  const who = mark(agent, ...resources);
  const { past, count } = countRetry(next.past, who, now);
  const also = released.map(({ n }) => n);
  next = next.with({ past: noteEnd(past, lock.n, 'denied', count, also) });
  const ids = released.map((held) => next.idOf(held));
  const denied: Outgoing = {
    type: 'lock.denied',
    to: agent,
    in_reply_to: lock.id,
    ...timedOut(next.idOf(lock), lock.key, count, ids),
  };
  const freed = released.flatMap(freedBy);
  if (count < MAX_LOCK_RETRIES) return { state: next, freed, emit: [denied], effects: [] };
  const about = { reason: 'timeout', agent, resources: [...resources], retry: count };
  const escalated = escalate(next.with({ past: forgetRetries(next.past, () => who) }), about, context);
  return { ...escalated, freed, emit: [denied, ...escalated.emit] };
}

function holdEnded(state: LockState, lock: Lock, context: Context): Step {
  if (lock.phase === 'held') return { ...lose(state, lock, context), effects: [] };
  const next = lock.phase === 'rolling' ? state.remove(lock) : state.replace(lock, { ...lock, phase: 'owed' });
  return { state: next, freed: freedBy(lock), emit: [], effects: [] };
}

/** Takes a lock from its holder: that is logged for the room, and its resources stay held, in the same kind, while its rollback may run. */
export function lose(
  state: LockState,
  lock: Lock,
  { now, config }: Context,
  why: { readonly [field: string]: Json } = {},
): Omit<Step, 'effects'> {
  const { rollback_seconds: seconds } = config;
  const ms = toMilliseconds(typeof seconds === 'number' ? seconds : DEFAULT_ROLLBACK_SECONDS);
  const phase = ms === 0 ? 'owed' : 'pending';
  const lost = state.replace(lock, { ...lock, phase, since: now, until: now + ms });
  return {
    state: lost.with({ past: noteEnd(lost.past, lock.n, 'expired') }),
    freed: ms === 0 ? freedBy(lock) : [],
    emit: [{ type: 'lock.expired', lock_id: state.idOf(lock), holder: lock.agent, ...lostFields(lock), ...why }],
  };
}

/** Starts the rollbacks that have not been, in the order of their locks, as many as may be under way. */
export function startRollbacks(state: LockState, context: Context): Pick<Step, 'state' | 'effects'> {
  const effects: Effect[] = [];
  let next = state;
  for (const [n] of state.unstarted.entries()) {
    const lock = next.locks.get(n);
    if (!lock) continue;
    const { agent, kind, resources, token, phase } = lock;
    const input = {
      lock_id: next.idOf(lock),
      holder: agent,
      lock_type: kind,
      resources: [...resources],
      tokens: tokensOf(resources, token),
    };
    const bytes = bytesOf(input, context);
    const { rollback } = next.effects;
    if (rollback > 0 && rollback + bytes > MAX_EFFECT_BYTES) break;
    effects.push({ name: 'rollback', input });
    next = phase === 'owed' ? next.remove(lock) : next.replace(lock, { ...lock, phase: 'rolling' });
    next = next.with({ effects: { ...next.effects, rollback: rollback + bytes } });
  }
  return { state: next, effects };
}

/** What an effect takes; revision 1 did not count its key and its name. */
function bytesOf(input: Effect['input'], { revision }: Context): number {
  return utf8Bytes(JSON.stringify(input)) + (revision >= 2 ? EFFECT_FRAME_BYTES : 0);
}

/** Logs that something needs attention, and calls whoever is called for that, unless too much of it is under way. */
function escalate(state: LockState, about: { readonly [field: string]: Json }, context: Context): Omit<Step, 'freed'> {
  const escalated = { type: 'lock.escalated', ...about };
  const bytes = bytesOf(escalated, context);
  const sum = state.effects.escalate + bytes;
  if (sum > MAX_EFFECT_BYTES) return { state, emit: [escalated], effects: [] };
  return {
    state: state.with({ effects: { ...state.effects, escalate: sum } }),
    emit: [escalated],
    effects: [{ name: 'escalate', input: escalated }],
  };
}

/** A rollback has ended: what it held is free. One that failed is for the room to know. */
export function onEffect(
  state: LockState,
  { name, input, failure }: Extract<Input<never>, { kind: 'effect' }>,
  context: Context,
): Decision<LockState> {
  const left = Math.max(0, state.effects[name] - bytesOf(input, context));
  const next = state.with({ effects: { ...state.effects, [name]: left } });
  if (name === 'escalate') return { state: next };
  const { lock_id: id } = input;
  const lock = typeof id === 'string' ? next.lockOf(id) : undefined;
  const over = lock?.phase === 'rolling' ? lock : undefined;
  const failed =
    failure === undefined ? undefined : { ...input, reason: 'rollback_failed', detail: failure.slice(0, MAX_DETAIL) };
  const ended = failed
    ? escalate(over ? next.remove(over) : next, failed, context)
    : { state: over ? next.remove(over) : next, emit: [], effects: [] };
  const started = startRollbacks(ended.state, context);
  const settled = settle(started.state, over ? freedBy(over) : [], context);
  return {
    state: settled.state,
    emit: [...ended.emit, ...settled.emit],
    effects: [...ended.effects, ...started.effects],
  };
}

/** After an absence leases begin anew; waits, and the time of rollbacks, are put off. */
export function resumed(state: LockState, absence: Absence): { readonly state: LockState; readonly extended: number } {
  let next = state;
  let extended = 0;
  for (const [, lock] of state.locks.entries()) {
    const { phase, until, since } = lock;
    if (phase === 'owed') continue;
    const later =
      phase === 'held' ? Math.max(until, absence.now + lock.lease_ms) : putOff(until, until - since, absence);
    if (later === until) continue;
    next = next.replace(lock, { ...lock, until: later });
    extended += 1;
  }
  return { state: next, extended };
}
