import { utf8Bytes } from '../../envelope/limits.ts';
import { toMilliseconds } from '../../envelope/fields.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import { refusal, type Refusal } from '../../envelope/refusal.ts';
import {
  DEFAULT_MAX_KEYS,
  DEFAULT_MAX_VALUE_BYTES,
  stateMessages,
  type StateMessage,
  type StateWrite,
} from '../../envelope/state.ts';
import { whole } from '../../envelope/fields.ts';
import { rules, type Context, type Decided, type Decision, type Outgoing, type Protocol } from '../protocol.ts';
import { answer, since } from './answers.ts';
import { entryOf, sizeOf, storeState, withEntry, type StoreState } from './state.ts';
import { detailsOf, viewOf } from './view.ts';

type Message<Verb extends string> = Extract<StateMessage, { type: `state.${Verb}` }>;

/** Keys that one deadline lets expire: the next ones follow at the same instant, and no decision is too long. */
const MAX_EXPIRED_AT_ONCE = 200;

/** Source of the rules: "Multi-Agent Coordination in Enterprise Environments", shared state, and the rule book's part F. */
export const stateStore: Protocol<StoreState, StateMessage> = {
  workflowType: 'stateStore',
  kind: 'state',
  area: 'state',
  nameField: 'namespace',
  messages: rules<StateMessage>(stateMessages),
  config: { max_keys: whole(1, DEFAULT_MAX_KEYS), max_value_bytes: whole(1, DEFAULT_MAX_VALUE_BYTES) },
  state: storeState,
  urgent: { has: (type, { lock_id }) => type === 'state.expired' && lock_id !== undefined },
  // Who may read a room or its chat need not know what is kept here.
  published: withoutValue,

  size: sizeOf,

  initial: () => ({ revision: 0, entries: [], bytes: 0 }),

  decide(state, input, context) {
    switch (input.kind) {
      case 'message':
        return onMessage(named(state, input.message.namespace), input.message, context);
      case 'deadline':
        return onDeadline(state, context);
      default:
        return { state };
    }
  },

  answer,
  since,

  nextDeadline({ next_expiry: at }) {
    return at === undefined ? null : { at, summary: 'a key expires', passing: true };
  },

  view: viewOf,
  details: detailsOf,
  row: () => undefined,
  outcome: () => undefined,
  involves: () => false,
};

function withoutValue(envelope: Envelope): Envelope {
  const { value: _, ...rest } = envelope;
  return rest;
}

function named(state: StoreState, namespace: string): StoreState {
  return state.namespace === undefined ? { ...state, namespace } : state;
}

function onMessage(state: StoreState, message: StateMessage, context: Context): Decision<StoreState> {
  switch (message.type) {
    // Reads change nothing and are answered from the state as it is: a repeat reads anew.
    case 'state.get':
    case 'state.list':
      return { state, verdict: ['read'], transient: true };
    case 'state.put':
      return single(state, message, { op: 'put', ...message }, context);
    case 'state.delete':
      return single(state, message, { op: 'delete', ...message }, context);
    case 'state.txn':
      return transaction(state, message, context);
    case 'state.lease':
      return bind(state, message);
  }
}

/** A write of one key, where its condition holds. */
function single(
  state: StoreState,
  message: Message<'put' | 'delete'>,
  write: StateWrite,
  context: Context,
): Decision<StoreState> {
  const { key, if_version: expected } = message;
  const version = entryOf(state, key)?.version ?? 0;
  if (expected !== undefined && expected !== version) return { state, verdict: ['conflict', key], transient: true };
  // What is not there is deleted already.
  if (write.op === 'delete' && version === 0) return { state, verdict: ['deleted', state.revision, null], quiet: true };
  const written = writeAll(state, [write], message.from, context);
  if ('code' in written) return { refuse: written };
  const until = entryOf(written.state, key)?.until ?? null;
  return {
    ...written,
    verdict: write.op === 'put' ? ['stored', written.state.revision, until] : ['deleted', written.state.revision, null],
    quiet: true,
  };
}

function transaction(state: StoreState, message: Message<'txn'>, context: Context): Decision<StoreState> {
  const failed = message.checks.some(({ key, version }) => (entryOf(state, key)?.version ?? 0) !== version);
  if (failed) return { state, verdict: ['failed'], transient: true };
  const written = writeAll(state, message.writes, message.from, context);
  if ('code' in written) return { refuse: written };
  const versions = message.writes.map(({ key }) => entryOf(written.state, key)?.version ?? 0);
  return { ...written, verdict: ['committed', written.state.revision, ...versions], quiet: true };
}

/** Does all writes, or says why none is done. Each is one event, of a revision of its own. */
function writeAll(
  before: StoreState,
  writes: readonly StateWrite[],
  by: string,
  context: Context,
): (Pick<Decided<StoreState>, 'state' | 'emit'> & { readonly state: StoreState }) | Refusal {
  let state = before;
  const emit: Outgoing[] = [];
  for (const write of writes) {
    const why = refused(state, write, context);
    if (why) return why;
    const known = entryOf(state, write.key);
    if (write.op === 'delete' && !known) continue;
    const revision = state.revision + 1;
    const ttl_ms = write.op === 'put' && write.ttl_seconds !== null ? toMilliseconds(write.ttl_seconds) : undefined;
    const next =
      write.op === 'delete'
        ? undefined
        : {
            value: write.value,
            version: revision,
            by,
            at: context.now,
            ...(ttl_ms === undefined ? {} : { ttl_ms, until: context.now + ttl_ms }),
            ...(known?.bound
              ? { bound: { ...known.bound, token: Math.max(known.bound.token, write.token ?? 0) } }
              : {}),
          };
    state = { ...withEntry(state, write.key, next), revision };
    emit.push(changed(state, write, revision, by));
  }
  return { state, emit };
}

/** Why a write may not be done, whatever else is. */
function refused(state: StoreState, write: StateWrite, { config }: Context): Refusal | undefined {
  const { key } = write;
  const known = entryOf(state, key);
  if (known?.bound && (write.token ?? 0) < known.bound.token)
    return refusal(
      'stale_token',
      `key "${key}" is bound to ${known.bound.lock_id}: token must be at least ${known.bound.token}`,
    );
  if (write.op === 'delete') return undefined;
  const limit = numberOf(config['max_value_bytes'], DEFAULT_MAX_VALUE_BYTES);
  const bytes = utf8Bytes(JSON.stringify(write.value));
  if (bytes > limit) return refusal('over_limit', `value of "${key}" takes ${bytes} bytes of JSON; at most ${limit}`);
  const keys = numberOf(config['max_keys'], DEFAULT_MAX_KEYS);
  if (!known && state.entries.length >= keys)
    return refusal('over_limit', `namespace ${state.namespace ?? ''} holds ${keys} keys, and no more`);
  return undefined;
}

function numberOf(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}

function changed({ namespace = '' }: StoreState, write: StateWrite, version: number, by: string): Outgoing {
  const about = { type: 'state.changed', namespace, key: write.key, version, last_modified_by: by };
  return write.op === 'delete' ? { ...about, deleted: true } : { ...about, value: write.value };
}

/** Binds a key to a lock, or says that a later holder of it is known. */
function bind(state: StoreState, { key, lock_id, token }: Message<'lease'>): Decision<StoreState> {
  const known = entryOf(state, key);
  if (!known) return { refuse: refusal('unknown', `key "${key}" has no value: put it first`) };
  if (known.bound && token < known.bound.token)
    return {
      refuse: refusal('stale_token', `key "${key}" is bound with token ${known.bound.token}, later than ${token}`),
    };
  return {
    state: withEntry(state, key, { ...known, bound: { lock_id, token } }),
    verdict: ['bound', known.version],
    quiet: true,
  };
}

function onDeadline(state: StoreState, { now }: Context): Decision<StoreState> {
  const over = state.entries.filter(([, { until }]) => until !== undefined && until <= now);
  const emit: Outgoing[] = [];
  let next = state;
  for (const [key, { bound }] of over.slice(0, MAX_EXPIRED_AT_ONCE)) {
    const revision = next.revision + 1;
    next = { ...withEntry(next, key, undefined), revision };
    emit.push({
      type: 'state.expired',
      namespace: state.namespace ?? '',
      key,
      version: revision,
      ...(bound ? { lock_id: bound.lock_id } : {}),
    });
  }
  return { state: next, emit };
}
