import { z } from 'zod';
import type { Envelope } from '../../envelope/envelope.ts';
import { json, type Json } from '../../envelope/fields.ts';
import { asError } from '../messages/answers.ts';

/** A key's value and where it comes from. */
export interface StateEntry {
  readonly key: string;
  readonly value: Json;
  /** The store's revision at its last write: never the same again, also where a key is deleted and made anew. */
  readonly version: number;
  readonly lastModifiedBy: string;
  /** Temporal's time, RFC 3339. */
  readonly lastModifiedAt: string;
  /** Seconds that it lasts after a write; null: for ever. */
  readonly ttlSeconds: number | null;
}

/** What a write has done. */
export interface StateWritten {
  readonly version: number;
  /** RFC 3339; absent where the key does not expire. */
  readonly expiresAt?: string;
}

/** A condition did not hold: another has written the key. Nothing was changed. */
export class StateConflict extends Error {
  override readonly name = 'StateConflict';
  readonly key: string;
  /** The key's version now; 0 where it does not exist. */
  readonly version: number;
  /** Its value now; undefined where it does not exist. */
  readonly value: Json | undefined;

  constructor(key: string, version: number, value?: Json) {
    super(version === 0 ? `key "${key}" does not exist` : `key "${key}" has version ${version}`);
    this.key = key;
    this.version = version;
    this.value = value;
  }
}

const entry = z
  .object({
    key: z.string(),
    value: json.optional(),
    version: z.number(),
    last_modified_by: z.string(),
    last_modified_at: z.string(),
    ttl_seconds: z.number().nullable(),
  })
  .transform((read): StateEntry => ({
    key: read.key,
    value: read.value ?? null,
    version: read.version,
    lastModifiedBy: read.last_modified_by,
    lastModifiedAt: read.last_modified_at,
    ttlSeconds: read.ttl_seconds,
  }));
const values = z.object({
  type: z.literal('state.values'),
  entries: z.array(entry),
  left: z.array(z.string()).default([]),
});
const page = z.object({ type: z.literal('state.page'), entries: z.array(entry), next: z.string().optional() });
const stored = z.object({ type: z.literal('state.stored'), version: z.number(), expires_at: z.string().optional() });
const deleted = z.object({ type: z.literal('state.deleted'), version: z.number() });
const committed = z.object({ type: z.literal('state.committed'), revision: z.number() });
const conflict = z.object({
  type: z.literal('state.conflict'),
  key: z.string(),
  version: z.number(),
  value: json.optional(),
});
const failed = z.object({
  type: z.literal('state.conflict'),
  failed: z.array(z.object({ key: z.string(), version: z.number() })).min(1),
});

/** @throws StateConflict or SynodError, whatever the answer says instead. */
function otherwise(answer: Envelope | undefined): Error {
  if (answer?.type === 'error') return asError(answer);
  const one = conflict.safeParse(answer);
  if (one.success) return new StateConflict(one.data.key, one.data.version, one.data.value);
  const several = failed.safeParse(answer);
  const [first] = several.data?.failed ?? [];
  if (first) return new StateConflict(first.key, first.version);
  return new Error(`a message about state was answered by ${answer?.type ?? 'nothing'}`);
}

/** Reads the first of the replies, or throws what it says instead. */
function reader<T>(schema: z.ZodType<T>): (replies: readonly Envelope[]) => T {
  return ([first]) => {
    const parsed = schema.safeParse(first);
    if (parsed.success) return parsed.data;
    throw otherwise(first);
  };
}

export const readValues = reader(values);
export const readPage = reader(page);
export const readStored = reader(stored);
export const readDeleted = reader(deleted);
export const readCommitted = reader(committed);

/** What a watcher is given of an event. */
export const changedEvent = z
  .object({
    type: z.enum(['state.changed', 'state.expired']),
    key: z.string(),
    version: z.number(),
    value: json.optional(),
    deleted: z.boolean().default(false),
    last_modified_by: z.string().optional(),
  })
  .transform((event) => ({
    key: event.key,
    version: event.version,
    value: event.type === 'state.expired' || event.deleted ? undefined : event.value,
    reason:
      event.type === 'state.expired' ? ('expired' as const) : event.deleted ? ('deleted' as const) : ('put' as const),
    ...(event.last_modified_by === undefined ? {} : { by: event.last_modified_by }),
  }));
