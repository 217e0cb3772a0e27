import { z } from 'zod';
import type { LockType } from '../../envelope/lock.ts';
import { utf8Bytes } from '../../envelope/limits.ts';
import { Sorted } from '../sorted.ts';
import { noPast, past, PAST_BYTES, type Past } from './past.ts';
import {
  byAgent,
  byHolder,
  byPlace,
  byTime,
  placeOf,
  type Holder,
  type Owner,
  type Place,
  type Time,
} from './order.ts';

/**
 * `waiting`; `held` by its agent; lost and held by the rollback, which has not been started (`pending`) or runs (`rolling`);
 * `owed` a rollback that holds nothing any more.
 */
export type Phase = 'waiting' | 'held' | 'pending' | 'rolling' | 'owed';

/** A request that was taken, from its wait to the end of its rollback. Times are epoch milliseconds. */
export interface Lock {
  readonly n: number;
  readonly phase: Phase;
  readonly agent: string;
  readonly kind: LockType;
  readonly resources: readonly string[];
  /** The id of the request, which a later grant answers. */
  readonly id: string;
  /** The idempotency key of the request. */
  readonly key: string;
  readonly priority: number;
  readonly scope: number;
  readonly lease_ms: number;
  /** Since when it is in its phase. */
  readonly since: number;
  /** When its phase ends by itself. */
  readonly until: number;
  /** The fencing token of its grant; 0 while it waits. */
  readonly token: number;
}

interface Parts {
  /** What its locks' ids begin with. */
  readonly prefix: string;
  /** The number of the lock issued last. */
  readonly issued: number;
  /** The token issued last: one counter for all resources, so that it rises also over a name that nobody remembers. */
  readonly token: number;
  readonly locks: Sorted<number, Lock>;
  /** The bytes that the locks take at most, whatever becomes of them. */
  readonly bytes: number;
  readonly past: Past;
  /** Bytes of the effects under way, by name. */
  readonly effects: { readonly rollback: number; readonly escalate: number };
}

interface Indexes {
  readonly queue: Sorted<Place, number>;
  readonly holders: Sorted<Holder, number>;
  /** When waits end, and when leases and rollbacks do. */
  readonly waits: Sorted<Time, number>;
  readonly ends: Sorted<Time, number>;
  /** What each agent holds or waits for. */
  readonly owned: Sorted<Owner, number>;
  /** Rollbacks to start. */
  readonly unstarted: Sorted<number, number>;
}

const byNumber = (a: number, b: number) => a - b;
const NO_INDEXES: Indexes = {
  queue: new Sorted(byPlace),
  holders: new Sorted(byHolder),
  waits: new Sorted(byTime),
  ends: new Sorted(byTime),
  owned: new Sorted(byAgent),
  unstarted: new Sorted(byNumber),
};

/** All that a lock manager knows. Immutable; as JSON, its locks and counters without the indexes, which follow from them. */
export class LockState implements Parts, Indexes {
  readonly prefix: string;
  readonly issued: number;
  readonly token: number;
  readonly locks: Sorted<number, Lock>;
  readonly bytes: number;
  readonly past: Past;
  readonly effects: Parts['effects'];
  readonly queue: Sorted<Place, number>;
  readonly holders: Sorted<Holder, number>;
  readonly waits: Sorted<Time, number>;
  readonly ends: Sorted<Time, number>;
  readonly owned: Sorted<Owner, number>;
  readonly unstarted: Sorted<number, number>;

  constructor(parts: Parts & Indexes) {
    this.prefix = parts.prefix;
    this.issued = parts.issued;
    this.token = parts.token;
    this.locks = parts.locks;
    this.bytes = parts.bytes;
    this.past = parts.past;
    this.effects = parts.effects;
    this.queue = parts.queue;
    this.holders = parts.holders;
    this.waits = parts.waits;
    this.ends = parts.ends;
    this.owned = parts.owned;
    this.unstarted = parts.unstarted;
  }

  with(changes: Partial<Parts & Indexes>): LockState {
    return Object.assign(new LockState(this), changes);
  }

  /** With a lock that is new. */
  add(lock: Lock): LockState {
    return this.#reindexed(lock, 'set').with({
      locks: this.locks.set(lock.n, lock),
      bytes: this.bytes + bytesOf(lock),
    });
  }

  /** Without a lock. */
  remove(lock: Lock): LockState {
    return this.#reindexed(lock, 'delete').with({
      locks: this.locks.delete(lock.n),
      bytes: this.bytes - bytesOf(lock),
    });
  }

  /** With a lock as it has become. */
  replace(before: Lock, after: Lock): LockState {
    return this.#reindexed(before, 'delete')
      .#reindexed(after, 'set')
      .with({ locks: this.locks.set(after.n, after) });
  }

  idOf({ n }: { readonly n: number }): string {
    return `${this.prefix}${n}`;
  }

  /** The number in a lock's id; undefined where it is no id of this manager. */
  numberOf(id: string): number | undefined {
    const digits = id.startsWith(this.prefix) ? id.slice(this.prefix.length) : '';
    return /^[1-9]\d{0,15}$/.test(digits) ? Number(digits) : undefined;
  }

  /** The lock of an id, where it is one of this manager's and has not ended. */
  lockOf(id: string): Lock | undefined {
    const n = this.numberOf(id);
    return n === undefined ? undefined : this.locks.get(n);
  }

  /** What an agent holds or waits for, the oldest first; with `after`, only what was asked for after the lock of that number. */
  *of(agent: string, after = 0): Generator<Lock> {
    for (const [owner, n] of this.owned.entries({ agent, n: after + 1 })) {
      if (owner.agent !== agent) return;
      const lock = this.locks.get(n);
      if (lock) yield lock;
    }
  }

  /** An upper bound of the bytes of its JSON. */
  get size(): number {
    return this.bytes + PAST_BYTES + FIXED_BYTES;
  }

  toJSON(): z.input<typeof stored> {
    const { prefix, issued, token, past: memory, effects } = this;
    return {
      prefix,
      issued,
      token,
      locks: [...this.locks.entries()].map(([, lock]) => pack(lock)),
      past: memory,
      effects,
    };
  }

  #reindexed(lock: Lock, change: 'set' | 'delete'): LockState {
    const { n, phase, agent, kind, resources, until } = lock;
    let { queue, holders, waits, ends, owned, unstarted } = this;
    const waiting = phase === 'waiting';
    if (waiting) for (const resource of resources) queue = queue[change](placeOf(lock, resource), n);
    else if (phase !== 'owed') for (const resource of resources) holders = holders[change]({ resource, kind, n }, n);
    if (waiting) waits = waits[change]({ at: until, n }, n);
    else if (phase !== 'owed') ends = ends[change]({ at: until, n }, n);
    if (waiting || phase === 'held') owned = owned[change]({ agent, n }, n);
    else if (phase !== 'rolling') unstarted = unstarted[change](n, n);
    return this.with({ queue, holders, waits, ends, owned, unstarted });
  }
}

/** What the numbers, codes and punctuation of a packed lock take at most. */
const LOCK_BYTES = 90;
/** The same of the state without its locks. */
const FIXED_BYTES = 400;

/** The bytes of a lock, the same in every phase, so that what was taken once never grows past the budget. */
function bytesOf({ agent, id, key, resources, scope }: Lock): number {
  return LOCK_BYTES + utf8Bytes(JSON.stringify([agent, id, key === id ? '' : key, resources, scope]));
}

const PHASES = { waiting: 'w', held: 'h', pending: 'p', rolling: 'r', owed: 'o' } as const;
const KINDS = { read: 'r', write: 'w', exclusive: 'e', permit: 'p' } as const;

const packed = z.tuple([
  z.number(),
  z.enum(['w', 'h', 'p', 'r', 'o']),
  z.string(),
  z.enum(['r', 'w', 'e', 'p']),
  z.array(z.string()),
  z.string(),
  /** Empty where it is the id. */
  z.string(),
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.number(),
]);
type Packed = z.infer<typeof packed>;

function pack(lock: Lock): Packed {
  const { n, phase, agent, kind, resources, id, key, priority, scope, lease_ms: lease, since, until, token } = lock;
  const own = key === id ? '' : key;
  return [n, PHASES[phase], agent, KINDS[kind], [...resources], id, own, priority, scope, lease, since, until, token];
}

function nameOf<Name extends string>(names: { readonly [N in Name]: string }, code: string): Name {
  for (const name in names) if (names[name] === code) return name;
  throw new Error(`no name for ${code}`);
}

function unpack([
  n,
  phase,
  agent,
  kind,
  resources,
  id,
  key,
  priority,
  scope,
  lease,
  since,
  until,
  token,
]: Packed): Lock {
  return {
    n,
    phase: nameOf(PHASES, phase),
    agent,
    kind: nameOf(KINDS, kind),
    resources,
    id,
    key: key === '' ? id : key,
    priority,
    scope,
    lease_ms: lease,
    since,
    until,
    token,
  };
}

const stored = z.object({
  prefix: z.string(),
  issued: z.number(),
  token: z.number(),
  locks: z.array(packed),
  past,
  effects: z.object({ rollback: z.number(), escalate: z.number() }),
});

export const lockState = stored.transform(({ locks, ...rest }) =>
  locks.reduce((state, lock) => state.add(unpack(lock)), empty(rest)),
);

function empty(parts: Omit<Parts, 'locks' | 'bytes'>): LockState {
  return new LockState({ ...parts, ...NO_INDEXES, locks: new Sorted(byNumber), bytes: 0 });
}

export const noLocks = empty({
  prefix: 'l-',
  issued: 0,
  token: 0,
  past: noPast,
  effects: { rollback: 0, escalate: 0 },
});
