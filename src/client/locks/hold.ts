import { z } from 'zod';
import type { Envelope } from '../../envelope/envelope.ts';
import { lockMessages, serves, type LockType } from '../../envelope/lock.ts';
import { compose } from '../messages/compose.ts';
import type { Target } from '../../envelope/address.ts';
import { isRefusedWith, reasonOf } from '../messages/answers.ts';
import type { LockConnection } from './connection.ts';
import { Lease, LeaseLost } from '../leases/lease.ts';
import { confirmed, type Term } from '../leases/term.ts';
import { withGrace } from '../timing/timing.ts';
import { LockEvents } from './lockEvents.ts';

/** The events of a lock that was granted at once are followed when it is held for longer than this, in milliseconds. */
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
  /** The number of the grant in the manager's log; 0 where it is not known. */
  readonly seq: number;
}

/** A request that was denied. A denial after a wait has released all that its agent held in the manager. */
export const denied = z.object({
  type: z.literal('lock.denied'),
  /** Of a request that had waited. */
  lock_id: z.string().optional(),
  reason: z.string(),
  released: z.array(z.string()).default([]),
  /** How many were released, where `released` does not name all. */
  released_count: z.number().optional(),
  retry: z.number().default(0),
  retry_after_seconds: z.number().default(0),
  seq: z.number().default(0),
});
export type Denial = z.infer<typeof denied>;

/** One agent at one lock manager. */
export interface Place {
  readonly connection: LockConnection;
  readonly agent: string;
  readonly target: Target;
}

/**
 * A lock that an agent holds, renewed until it is released. The owner is the agent: calls of one agent for the same set
 * share one lock, which is released when the last of them ends.
 */
export class Hold {
  static readonly #all = new WeakMap<LockConnection, Map<string, Hold>>();

  readonly grant: Grant;
  readonly place: Place;
  readonly #lease: Lease;
  readonly #key: string;
  #users = 0;
  /** The request by whose denial it was lost. */
  #lostTo: string | undefined;
  #unsubscribe: (() => void) | undefined;
  #listening: NodeJS.Timeout | undefined;

  private constructor(place: Place, grant: Grant, term: Term, waited: boolean) {
    this.place = place;
    this.grant = grant;
    this.#key = keyOf(place, grant.lockId);
    this.#lease = new Lease(term, async () => await renew(place, grant, term.leaseMs));
    // Whoever has waited follows the lock's events already, and goes on at once so that none is missed.
    if (waited) this.#listen();
    else this.#listening = setTimeout(() => this.#listen(), LISTEN_AFTER_MS).unref();
  }

  static #allOf({ connection }: Place): Map<string, Hold> {
    const all = Hold.#all.get(connection) ?? new Map<string, Hold>();
    Hold.#all.set(connection, all);
    return all;
  }

  /**
   * Begins to hold what was granted, or joins who holds it already.
   * @param waited it was granted after a wait.
   * @returns undefined where it is over for the server.
   */
  static async begin(place: Place, grant: Grant, granted: Term, waited: boolean): Promise<Hold | undefined> {
    const all = Hold.#allOf(place);
    const key = keyOf(place, grant.lockId);
    const join = () => {
      const known = all.get(key);
      if (!known || known.lost) return undefined;
      known.#users += 1;
      return known;
    };
    const known = join();
    if (known) return known;
    const term = await confirmed(granted, async () => await renew(place, grant, granted.leaseMs));
    if ('refused' in term) return undefined;
    const other = join();
    if (other) return other;
    const hold = new Hold(place, grant, term, waited);
    hold.#users = 1;
    all.set(key, hold);
    return hold;
  }

  /**
   * A denial after a wait has ended all locks that its agent held at that place.
   * @returns those that are lost by it.
   */
  static async denied(place: Place, denial: Denial): Promise<readonly Hold[]> {
    const { agent, target } = place;
    const holds = [...Hold.#allOf(place).values()].filter(({ place: at }) => at.agent === agent && isSame(at, target));
    const lost = await Promise.all(holds.map(async (hold) => ((await hold.#denied(denial)) ? [hold] : [])));
    return lost.flat();
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
      this.place.agent === agent &&
      isSame(this.place, target) &&
      serves(this.grant.type, type) &&
      resources.every((resource) => this.grant.resources.includes(resource)) &&
      !this.lost
    );
  }

  /**
   * One of its users has ended; the last one releases it. Never throws: what cannot be released runs out.
   * @returns the loss that the release has brought to light: the server had ended the lock before.
   */
  async leave(): Promise<LeaseLost | undefined> {
    this.#users -= 1;
    if (this.#users > 0) return undefined;
    const all = Hold.#allOf(this.place);
    const own = all.get(this.#key) === this;
    if (own) all.delete(this.#key);
    clearTimeout(this.#listening);
    this.#unsubscribe?.();
    const { lost, leftMs } = this.#lease;
    this.#lease.close();
    if (!lost) return await this.#release(leftMs);
    // For the server it may go on, as where it has given time back; unless the agent holds it anew.
    if (own && this.#lease.ranOut) void this.#release();
    return undefined;
  }

  /** @param ms how long it is tried; a server that is away must not hold up what is done. */
  async #release(ms?: number): Promise<LeaseLost | undefined> {
    const { connection, agent, target } = this.place;
    const { lockId } = this.grant;
    const message = compose(lockMessages['lock.release'], agent, { type: 'lock.release', lock_id: lockId });
    try {
      const send = async (end: AbortSignal) => await connection.send(target, message, end);
      const [answer] = (await withGrace(AbortSignal.abort(), send, ms)) ?? [];
      if (isRefusedWith(answer, 'not_holder')) return new LeaseLost(`the release was refused: ${reasonOf(answer)}`);
      if (answer?.type === 'error') warn(reasonOf(answer));
    } catch (error) {
      warn(error);
    }
    return undefined;
  }

  /** Whether it is lost by a denial, as all is that was granted before. A denial names some of it only. */
  async #denied(denial: Denial): Promise<boolean> {
    if (this.lost) return this.#lostTo !== undefined && this.#lostTo === denial.lock_id;
    const { released, released_count: count = released.length } = denial;
    const named = released.includes(this.grant.lockId);
    const ordered = denial.seq > 0 && this.grant.seq > 0;
    if (!named && (count <= released.length || (ordered && this.grant.seq > denial.seq))) return false;
    // Where it is not known which of them came first, the server says whether it is held.
    if (named || ordered) this.#lease.lose('it was given up: another request of its agent has waited in vain');
    else await this.#lease.check();
    if (this.lost) this.#lostTo = denial.lock_id;
    return this.lost;
  }

  #listen(): void {
    const { agent, connection, target } = this.place;
    const { lockId, seq } = this.grant;
    this.#unsubscribe = LockEvents.of(connection, target.workflowId).listen({
      agent,
      lockId,
      after: seq,
      onEvent: ({ type, reason }) => {
        if (type === 'lock.expired')
          this.#lease.lose(
            typeof reason === 'string' ? `the lock was released by force: ${reason}` : 'the lock has expired',
          );
        else if (type === 'lock.released') this.#lease.lose('the lock was released elsewhere');
      },
      onDenied: (event) => {
        const { data } = denied.safeParse(event);
        if (data) void this.#denied(data);
      },
      onGap: () => void this.#lease.check(),
    });
  }
}

function keyOf({ agent, target: { workflowId } }: Place, lockId: string): string {
  return `${workflowId} ${agent} ${lockId}`;
}

function isSame(place: Place, { workflowId }: Target): boolean {
  return place.target.workflowId === workflowId;
}

async function renew(
  { connection, agent, target }: Place,
  { lockId }: Grant,
  leaseMs: number,
): Promise<readonly Envelope[]> {
  const message = compose(lockMessages['lock.renew'], agent, {
    type: 'lock.renew',
    lock_id: lockId,
    lease_seconds: leaseMs / 1000,
  });
  return await connection.send(target, message);
}

function warn(error: unknown): void {
  process.emitWarning(`synod: a lock could not be released, it runs out: ${String(error)}`);
}
