import { z } from 'zod';
import { message } from './envelope.ts';
import { json, key, name, seconds, whole } from './fields.ts';

/** Keys that one `state.get` reads, and checks and writes of one transaction. */
export const MAX_STATE_KEYS = 64;
/** Entries of one page of `state.list`, and how many it has where it does not say. */
export const MAX_STATE_PAGE = 500;
const DEFAULT_STATE_PAGE = 100;
/** Keys of a namespace, and bytes of one value's JSON, unless configured. */
export const DEFAULT_MAX_KEYS = 1_000;
export const DEFAULT_MAX_VALUE_BYTES = 8_192;

const namespace = name;
/** A store's revision at a key's last write; as a condition, 0 means that the key must not exist. */
const version = whole(0);
/** The fencing token of the lock that a key is bound to. */
const token = whole(1).optional();

const put = {
  key: name,
  value: json,
  /** Seconds until the key expires, counted from this write; null: never. */
  ttl_seconds: z.nullable(seconds()).default(null),
  token,
};
const remove = { key: name, token };

const write = z.discriminatedUnion('op', [
  z.object({ op: z.literal('put'), ...put }),
  z.object({ op: z.literal('delete'), ...remove }),
]);
/** One write of a transaction. */
export type StateWrite = z.infer<typeof write>;

/** Messages to a state store, `synod:{room}:state:{namespace}`. Durations in seconds. */
export const stateMessages = {
  /** Writes a key; with `if_version`, only where the key has that version. */
  'state.put': message('state.put', { namespace, ...put, if_version: version.optional() }),
  'state.delete': message('state.delete', { namespace, ...remove, if_version: version.optional() }),
  /** Reads keys as they are when the message is handled, not as a query's replica may still have them. */
  'state.get': message('state.get', {
    namespace,
    keys: z.array(name).min(1, 'must hold 1 to 64 names').max(MAX_STATE_KEYS, 'must hold 1 to 64 names'),
  }),
  /** Pages through the keys in the order of their code units. */
  'state.list': message('state.list', {
    namespace,
    prefix: name.optional(),
    after: name.optional(),
    limit: whole(1, MAX_STATE_PAGE).default(DEFAULT_STATE_PAGE),
    values: z.boolean().default(false),
  }),
  /** Does all of its writes where every key checked has the version named, and none otherwise. */
  'state.txn': message('state.txn', {
    namespace,
    checks: z
      .array(z.object({ key: name, version }))
      .max(MAX_STATE_KEYS, 'must hold at most 64 checks')
      .default([]),
    writes: z
      .array(write)
      .min(1, 'must hold 1 to 64 writes')
      .max(MAX_STATE_KEYS, 'must hold 1 to 64 writes')
      .refine(
        (writes) => new Set(writes.map(({ key: each }) => each)).size === writes.length,
        'must not write a key twice',
      ),
  }),
  /** Binds a key to a lock: writes then need a token at least as high as the highest one that the key has seen. */
  'state.lease': message('state.lease', { namespace, key: name, lock_id: key, token: whole(1) }),
};

export type StateMessage = z.infer<(typeof stateMessages)[keyof typeof stateMessages]>;
