import type { z } from 'zod';
import type { LogEvent } from '../../envelope/calls.ts';
import type { Json } from '../../envelope/fields.ts';
import { SynodError } from '../../envelope/refusal.ts';
import { MAX_STATE_KEYS, stateMessages, type StateMessage } from '../../envelope/state.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';
import { isolated } from '../isolated.ts';
import { compose } from '../messages/compose.ts';
import { known, needed, type Keys } from '../../envelope/options.ts';
import { stateTarget } from '../../envelope/targets.ts';
import { backoff, pause } from '../timing/timing.ts';
import {
  changedEvent,
  readCommitted,
  readDeleted,
  readPage,
  readStored,
  readValues,
  StateConflict,
  type StateEntry,
  type StateWritten,
} from './answers.ts';
import { inTurn } from './turns.ts';

/** Options of a write. */
export interface WriteOptions {
  /** Write only where the key has this version; 0: where it does not exist. Default: whatever it has. */
  readonly ifVersion?: number;
  /** Seconds until the key expires; default: never. */
  readonly ttlSeconds?: number;
  /** The fencing token of the lock that the key is bound to. */
  readonly token?: number;
}

/** Options of `update`. */
export interface UpdateOptions {
  /** How often it is tried again where another was faster; default 5. */
  readonly retries?: number;
  readonly ttlSeconds?: number;
  readonly token?: number;
}

/** One write of a transaction; without a `value`, a deletion. */
export interface TransactionWrite {
  readonly key: string;
  readonly value?: Json;
  readonly ttlSeconds?: number;
  readonly token?: number;
}

/** A change of a key, as a watcher is given it. */
export type StateChange = z.infer<typeof changedEvent>;

/** Options of `watch`. */
export interface WatchOptions {
  /** Only these keys; one that ends in `*` stands for all that begin so. Default: all. */
  readonly keys?: readonly string[];
  /** The last number of the store's log already read; default: from now on. */
  readonly after?: number;
  /** Called where changes may have been missed: read the keys anew. */
  readonly onGap?: () => void;
}

const WRITE_KEYS: Keys<WriteOptions> = { ifVersion: true, ttlSeconds: true, token: true };
const UPDATE_KEYS: Keys<UpdateOptions> = { retries: true, ttlSeconds: true, token: true };
const WATCH_KEYS: Keys<WatchOptions> = { keys: true, after: true, onGap: true };
const DEFAULT_RETRIES = 5;

/** Shared state of a room under one namespace: `room.state('cfg')`. Each write is one durable event with a version of its own. */
export class StateStore {
  readonly namespace: string;
  readonly #connection: SharedConnection;
  readonly #agent: string;
  readonly #room: string;

  /** @internal */
  constructor(connection: SharedConnection, agent: string, room: string, namespace: string) {
    this.#connection = connection;
    this.#agent = agent;
    this.#room = room;
    this.namespace = namespace;
  }

  /** A key as it is now, after all writes that were answered before; undefined where it does not exist. */
  async get(key: string): Promise<StateEntry | undefined> {
    const { entries } = readValues(await this.#send({ type: 'state.get', keys: [key] }));
    return entries[0];
  }

  /** Keys as they are now, by name. Up to 64 are read at one instant, as far as their values fit into one envelope of 16 KiB. */
  async getAll(keys: readonly string[]): Promise<ReadonlyMap<string, StateEntry>> {
    const found = new Map<string, StateEntry>();
    for (let left = [...new Set(keys)]; left.length > 0;) {
      const asked = left.slice(0, MAX_STATE_KEYS);
      const read = readValues(await this.#send({ type: 'state.get', keys: asked }));
      for (const entry of read.entries) found.set(entry.key, entry);
      left = [...read.left, ...left.slice(MAX_STATE_KEYS)];
    }
    return found;
  }

  /** All keys that begin with `prefix`, in the order of their code units, page by page. */
  async *list(prefix?: string): AsyncGenerator<StateEntry> {
    for (let after: string | undefined; ;) {
      const page = readPage(await this.#send({ type: 'state.list', prefix, after, values: true }));
      yield* page.entries;
      if (page.next === undefined) return;
      after = page.next;
    }
  }

  /**
   * Writes a key.
   * @throws StateConflict where it has not the version of `ifVersion`; SynodError `over_limit` past 8 KiB of JSON or 1,000
   *   keys, `stale_token` where the key is bound to a lock with a later token, `invalid_envelope` naming the field.
   */
  async put(key: string, value: Json, options: WriteOptions = {}): Promise<StateWritten> {
    known('options', options, WRITE_KEYS);
    const { ifVersion, ttlSeconds, token } = options;
    const written = readStored(
      await this.#send({ type: 'state.put', key, value, if_version: ifVersion, ttl_seconds: ttlSeconds, token }),
    );
    const { version, expires_at: expiresAt } = written;
    return expiresAt === undefined ? { version } : { version, expiresAt };
  }

  /** Deletes a key; one that does not exist is no error. @throws as `put`. */
  async delete(key: string, options: Omit<WriteOptions, 'ttlSeconds'> = {}): Promise<void> {
    known<WriteOptions>('options', options, WRITE_KEYS);
    readDeleted(await this.#send({ type: 'state.delete', key, if_version: options.ifVersion, token: options.token }));
  }

  /**
   * Reads a key, changes it, and writes it where nobody else has written it meanwhile; otherwise again with the value of now.
   * @param change is given the value, undefined where the key does not exist, and returns the next one. It must not update
   *   the same key itself: the agents of one process change a key one after the other.
   * @throws StateConflict after `retries` tries in vain.
   */
  async update(
    key: string,
    change: (value: Json | undefined) => Json | Promise<Json>,
    options: UpdateOptions = {},
  ): Promise<StateWritten> {
    needed({ change });
    known('options', options, UPDATE_KEYS);
    const { retries = DEFAULT_RETRIES, ...rest } = options;
    const { workflowId } = stateTarget(this.#room, this.namespace);
    return await inTurn(this.#connection, `${workflowId} ${key}`, async () => {
      let head: { version: number; value?: Json | undefined } = (await this.get(key)) ?? { version: 0 };
      for (let attempt = 0; ; attempt++) {
        const next = await change(head.value);
        try {
          return await this.put(key, next, { ...rest, ifVersion: head.version });
        } catch (error) {
          if (!(error instanceof StateConflict) || attempt >= retries) throw error;
          head = error;
          await pause(backoff(attempt));
        }
      }
    });
  }

  /**
   * Runs `effect` where no agent has begun it yet, and never twice: for effects outside that know no idempotency key. Where
   * `effect` throws, or the process dies in it, it is not known whether it was done, and it is not begun again until `ttlSeconds` have passed.
   * @returns whether it was run here.
   */
  async once(
    key: string,
    effect: () => Promise<void>,
    options: { readonly ttlSeconds?: number } = {},
  ): Promise<boolean> {
    needed({ effect });
    known('options', options, { ttlSeconds: true });
    try {
      await this.put(key, { begun_by: this.#agent }, { ...options, ifVersion: 0 });
    } catch (error) {
      if (error instanceof StateConflict) return false;
      throw error;
    }
    await effect();
    return true;
  }

  /**
   * Does all writes where each key of `versions` has the version named (0: does not exist), and none otherwise. At most 64 of each.
   * @returns the store's revision after it. @throws StateConflict naming the first key that differs.
   */
  async transaction(
    writes: readonly TransactionWrite[],
    versions: ReadonlyMap<string, number> = new Map(),
  ): Promise<number> {
    const { revision } = readCommitted(
      await this.#send({
        type: 'state.txn',
        checks: [...versions].map(([key, version]) => ({ key, version })),
        writes: writes.map(({ key, value, ttlSeconds, token }) => {
          const fenced = token === undefined ? {} : { token };
          return value === undefined
            ? { op: 'delete', key, ...fenced }
            : { op: 'put', key, value, ttl_seconds: ttlSeconds ?? null, ...fenced };
        }),
      }),
    );
    return revision;
  }

  /** Lets only holders of a lock write a key from now on, by their fencing tokens. @throws SynodError `unknown` where the key does not exist. */
  async bind(key: string, lockId: string, token: number): Promise<void> {
    const [first] = await this.#send({ type: 'state.lease', key, lock_id: lockId, token });
    if (first?.type !== 'state.bound') readStored(first ? [first] : []);
  }

  /**
   * Calls back for each change of the keys, in the order of their versions, each once, over lost connections.
   * @returns a function that ends it.
   */
  watch(onChange: (change: StateChange) => void, options: WatchOptions = {}): () => void {
    needed({ onChange });
    known('options', options, WATCH_KEYS);
    const { keys, after, onGap = () => undefined } = options;
    const { workflowId } = stateTarget(this.#room, this.namespace);
    const deliver = isolated('onChange', onChange);
    const onEvent = ({ envelope }: LogEvent) => {
      const change = changedEvent.safeParse(envelope);
      if (change.success && matches(change.data.key, keys)) deliver(change.data);
    };
    const types = ['state.changed', 'state.expired'];
    return this.#connection.readerOf(workflowId).listen({ agent: this.#agent, types, onEvent, onGap }, after);
  }

  async #send(fields: { readonly type: StateMessage['type']; readonly [field: string]: unknown }) {
    const schema: z.ZodType<StateMessage> = stateMessages[fields.type];
    const message = compose(schema, this.#agent, { ...fields, namespace: this.namespace });
    return await this.#connection.send(stateTarget(this.#room, this.namespace), message);
  }
}

/** Whether a key is one of some, or begins as one that ends in `*`. */
function matches(key: string, keys: readonly string[] | undefined): boolean {
  return keys?.some((each) => (each.endsWith('*') ? key.startsWith(each.slice(0, -1)) : key === each)) ?? true;
}

/** @throws SynodError `invalid_envelope` where it is no name. */
export function checkedNamespace(namespace: string): string {
  const parsed = stateMessages['state.get'].shape.namespace.safeParse(namespace);
  if (parsed.success) return parsed.data;
  throw new SynodError('invalid_envelope', `namespace ${parsed.error.issues[0]?.message ?? 'is malformed'}`);
}
