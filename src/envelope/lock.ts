import { z } from 'zod';
import { byName } from './byName.ts';
import { maxWaits } from './calls.ts';
import { message } from './envelope.ts';
import { agentId, key, name, priority, seconds, text, whole } from './fields.ts';
import { fitsBytes, MAX_CONFIG_BYTES } from './limits.ts';
import { MAX_SHARDS } from './shards.ts';

export const MAX_RESOURCES = 64;
/** Longest lease of a lock, in seconds. */
export const MAX_LOCK_LEASE_SECONDS = 300;
const DEFAULT_LOCK_LEASE_SECONDS = 60;
/** The rule book's 10-second rule: who has waited so long gives up what it holds. */
const DEFAULT_WAIT_SECONDS = 10;

export const lockType = z.enum(['read', 'write', 'exclusive', 'permit'], 'must be read, write, exclusive or permit');
export type LockType = z.infer<typeof lockType>;

/** The kinds of locks that serve their holder for one of this kind. */
const SERVED_BY: { readonly [kind in LockType]: readonly LockType[] } = {
  read: ['read', 'write', 'exclusive'],
  write: ['write', 'exclusive'],
  exclusive: ['exclusive'],
  permit: ['permit'],
};

/** Whether who holds a lock of one kind needs no other for what another kind allows. */
export function serves(held: LockType, wanted: LockType): boolean {
  return SERVED_BY[wanted].includes(held);
}

/** After so many time-outs for the same resources a request is denied for good. Source: the rule book, rule 3.4. */
export const MAX_LOCK_RETRIES = 3;

/** Each name once, in the order of their code units: whoever asks for the same asks in the same order. */
const resources = z
  .array(name)
  .min(1, 'must name at least one resource')
  .max(MAX_RESOURCES, `must name at most ${MAX_RESOURCES} resources`)
  .transform((names) => [...new Set(names)].sort());

/** Resources with permits that a configuration may name. */
const MAX_PERMITTED = 1_000;

/** What may be configured of a lock manager. `rollback_seconds`: 0 lets the next one in at once. */
export const lockConfig = z.object({
  permits: byName(whole(0), name)
    .refine((each) => Object.keys(each).length <= MAX_PERMITTED, `must name at most ${MAX_PERMITTED} resources`)
    .optional(),
  /** Default 10. */
  rollback_seconds: seconds({ zero: true }).optional(),
  /** Default 1. */
  shards: whole(1, MAX_SHARDS).optional(),
  /** Default 3. */
  max_waits: maxWaits.optional(),
});

/** The same, within the bytes that a workflow takes. */
export const boundedLockConfig = lockConfig.refine((config) => fitsBytes(JSON.stringify(config), MAX_CONFIG_BYTES), {
  path: ['permits'],
  error: `must leave the configuration at most ${MAX_CONFIG_BYTES} bytes of JSON`,
});

/** The fencing token of each resource of a grant. */
export const tokensByResource = byName(whole(1));

const lease = seconds({ max: MAX_LOCK_LEASE_SECONDS });

/** Messages to a lock manager, `synod:{room}:locks`. Durations in seconds. */
export const lockMessages = {
  'lock.request': message('lock.request', {
    resources,
    lock_type: lockType,
    lease_seconds: lease.default(DEFAULT_LOCK_LEASE_SECONDS),
    /** 0 only tries. */
    wait_seconds: seconds({ zero: true }).default(DEFAULT_WAIT_SECONDS),
    priority: priority.default(3),
    /** Broader is higher; decides between requests of one workflow task. */
    scope: whole(Number.MIN_SAFE_INTEGER).optional(),
  }),
  'lock.renew': message('lock.renew', { lock_id: key, lease_seconds: lease.optional() }),
  'lock.release': message('lock.release', { lock_id: key }),
  /** Names what it cancels by the lock's id, or by the idempotency key of the request. */
  'lock.cancel': message('lock.cancel', { lock_id: key.optional(), request: key.optional() }).refine(
    ({ lock_id: id, request }) => (id === undefined) !== (request === undefined),
    { path: ['lock_id'], error: 'or request must be given, and not both' },
  ),
  /** For operators. */
  'lock.force_release': message('lock.force_release', { lock_id: key, reason: text.min(1, 'must not be empty') }),
};

export type LockMessage = z.infer<(typeof lockMessages)[keyof typeof lockMessages]>;

/** Which page of its locks the `view` of a lock manager is asked for: the oldest request first. */
export const locksQuery = z.object({
  locks: z.literal(true),
  /** Only locks on this resource. */
  resource: name.optional(),
  /** Only what this agent holds or waits for. */
  agent: agentId.optional(),
  /** The `next` of the page before. */
  after: key.optional(),
  limit: whole(1, 1_000).default(200),
});
export type LocksQuery = z.infer<typeof locksQuery>;

/** A request that waits, a lock that is held, or one that was lost and whose rollback may still run. */
export const lockRow = z.object({
  lock_id: z.string(),
  status: z.enum(['waiting', 'held', 'rolling_back']),
  lock_type: lockType,
  /** Who asked for it. */
  agent: z.string(),
  resources: z.array(z.string()),
  since: z.string(),
  /** When the wait, the lease or the time of the rollback ends. */
  ends_at: z.string(),
  /** The fencing token, the same of all its resources; absent while it waits. */
  token: z.number().optional(),
});
export type LockRow = z.infer<typeof lockRow>;
/** A page of locks; `next` is the `after` of the next one. */
export const locksPage = z.object({ rows: z.array(lockRow), next: z.string().optional() });
