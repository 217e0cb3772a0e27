import type { Envelope } from '../../envelope/envelope.ts';
import { lockMessages, serves, type LockType } from '../../envelope/lock.ts';
import { compose } from '../messages/compose.ts';
import type { Target } from '../../envelope/address.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';
import { Lease } from '../leases/lease.ts';
import { parting } from '../timing/timing.ts';
import { Desk } from './desk.ts';

/** Of a lock that came after a wait it is not known to the millisecond when it was granted: it is renewed early. */
const EARLY_RENEWAL_MS = 250;
/** A lock held for longer than this is listened for, so that its forced release is known at once. */
const LISTEN_AFTER_MS = 1_000;

/** What is asked for. */
export interface Wanted {
  readonly resources: readonly string[];
  readonly type: LockType;
}

/** What was granted. */
export interface Grant extends Wanted {
  readonly lockId: string;
  readonly tokens: { readonly [resource: string]: number };
  readonly leaseSeconds: number;
  /** The number of the grant in the manager's log; 0 where it is not known. */
  readonly seq: number;
}

/**
 * A lock that an agent holds, renewed until it is let go. The owner is the agent: calls of one agent for the same set
 * share one lock, which is released when the last of them ends.
 */
export class Hold {
  static readonly #all = new WeakMap<SharedConnection, Map<string, Hold>>();

  readonly grant: Grant;
  readonly agent: string;
  readonly target: Target;
  readonly #connection: SharedConnection;
  readonly #lease: Lease;
  readonly #key: string;
  #users = 0;
  #deaf: (() => void) | undefined;
  readonly #listening: NodeJS.Timeout;

  private constructor(
    connection: SharedConnection,
    agent: string,
    target: Target,
    grant: Grant,
    askedAt: number,
    waited: boolean,
  ) {
    this.#connection = connection;
    this.agent = agent;
    this.target = target;
    this.grant = grant;
    this.#key = Hold.#keyOf(agent, target, grant.lockId);
    this.#lease = new Lease(
      grant.leaseSeconds,
      askedAt,
      async () => await this.#renew(),
      waited ? { firstRenewalMs: EARLY_RENEWAL_MS } : {},
    );
    this.#listening = setTimeout(() => this.#listen(), LISTEN_AFTER_MS);
    this.#listening.unref();
  }

  static #keyOf(agent: string, { workflowId }: Target, lockId: string): string {
    return `${workflowId} ${agent} ${lockId}`;
  }

  /**
   * Begins to hold what was granted, or joins who holds it already.
   * @param askedAt `performance.now()` when the lease began at the earliest.
   * @param waited it was granted at some time before it was heard of.
   */
  static begin(
    connection: SharedConnection,
    agent: string,
    target: Target,
    grant: Grant,
    askedAt: number,
    waited: boolean,
  ): Hold {
    const all = Hold.#all.get(connection) ?? new Map<string, Hold>();
    Hold.#all.set(connection, all);
    const known = all.get(Hold.#keyOf(agent, target, grant.lockId));
    const hold = known && !known.lost ? known : new Hold(connection, agent, target, grant, askedAt, waited);
    hold.#users += 1;
    all.set(hold.#key, hold);
    return hold;
  }

  /** The locks that were given up are lost to whoever holds them here. */
  static giveUp(
    connection: SharedConnection,
    agent: string,
    target: Target,
    lockIds: readonly string[],
    reason: string,
  ): void {
    for (const lockId of lockIds) {
      const hold = Hold.#all.get(connection)?.get(Hold.#keyOf(agent, target, lockId));
      if (hold) hold.#lease.lose(reason);
    }
  }

  /** Fires when the lock is lost. */
  get signal(): AbortSignal {
    return this.#lease.signal;
  }

  get lost(): boolean {
    return this.#lease.lost;
  }

  /** Whether it gives all that is wanted. */
  covers(agent: string, target: Target, { resources, type }: Wanted): boolean {
    return (
      this.agent === agent &&
      this.target.workflowId === target.workflowId &&
      serves(this.grant.type, type) &&
      resources.every((resource) => this.grant.resources.includes(resource)) &&
      !this.lost
    );
  }

  /** One of its users has ended; the last one releases it. Never throws: what cannot be released runs out. */
  async leave(): Promise<void> {
    this.#users -= 1;
    if (this.#users > 0) return;
    const all = Hold.#all.get(this.#connection);
    if (all?.get(this.#key) === this) all.delete(this.#key);
    clearTimeout(this.#listening);
    this.#deaf?.();
    if (this.lost) return this.#lease.close();
    const { leftMs } = this.#lease;
    this.#lease.close();
    const message = compose(lockMessages['lock.release'], this.agent, {
      type: 'lock.release',
      lock_id: this.grant.lockId,
    });
    // A server that is away must not hold up what is done: the lease ends by itself.
    await parting(
      AbortSignal.abort(),
      async (end) => await this.#connection.send(this.target, message, end),
      leftMs,
    ).catch(warn);
  }

  async #renew(): Promise<readonly Envelope[]> {
    const message = compose(lockMessages['lock.renew'], this.agent, {
      type: 'lock.renew',
      lock_id: this.grant.lockId,
      lease_seconds: this.grant.leaseSeconds,
    });
    return await this.#connection.send(this.target, message);
  }

  #listen(): void {
    const { lockId, seq } = this.grant;
    const onWord = ({ type, reason }: Envelope) => {
      if (type === 'lock.expired')
        this.#lease.lose(
          typeof reason === 'string' ? `the lock was released by force: ${reason}` : 'the lock has expired',
        );
    };
    this.#deaf = Desk.of(this.#connection, this.target.workflowId).hear(
      this.agent,
      lockId,
      seq,
      onWord,
      () => undefined,
    );
  }
}

function warn(error: unknown): void {
  process.emitWarning(`synod: a lock could not be released, it runs out: ${String(error)}`);
}
