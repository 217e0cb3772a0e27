import * as wf from '@temporalio/workflow';
import { z } from 'zod';
import type { Target } from '../envelope/address.ts';
import type { Envelope } from '../envelope/envelope.ts';
import { parseTimestamp } from '../envelope/fields.ts';
import { lockMessages, tokensByResource } from '../envelope/lock.ts';
import type { Refusal } from '../envelope/refusal.ts';
import { RENEWALS_A_LEASE } from '../envelope/limits.ts';
import { refusalIn } from './errors.ts';
import { inbox } from './inbox.ts';
import { compose, send } from './send.ts';
import type { Sender } from './sender.ts';

/** The answer to a release is waited for so long, in milliseconds. */
const RELEASE_WAIT_MS = 5_000;
/** Marks the runs that do what {@link patched} says. */
const PATCH = 'synod-lock-ends';

const granted = z.object({
  lock_id: z.string(),
  /** Its number in the manager's log; 0 where it is not known. */
  seq: z.number().default(0),
  tokens: tokensByResource,
});
const lease = z.object({
  lease_seconds: z.number(),
  lease_expires_at: z.string().transform((value) => parseTimestamp(value) ?? 0),
});
const denied = z.object({
  reason: z.string(),
  released: z.array(z.string()).default([]),
  /** How many were released, where `released` does not name all. */
  released_count: z.number().optional(),
  seq: z.number().default(0),
  retry: z.number().default(0),
  retry_after_seconds: z.number().default(0),
});

export type Grant = z.infer<typeof granted>;
export type Denial = z.infer<typeof denied>;
export type LockRequest = z.infer<(typeof lockMessages)['lock.request']>;

/** How often each lock is used in this workflow: one agent that asks twice for the same has one lock. */
const users = new Map<string, number>();

/** Whether this run does what earlier ones did otherwise. It is only called where they differ, so that others have no marker. */
export function patched(): boolean {
  return wf.patched(PATCH);
}

/** One request for locks, from when it is sent to its end: what became of it, and the lease while it is held. */
export class Claim {
  readonly message: LockRequest;
  readonly target: Target;
  readonly sender: Sender;
  grant: Grant | undefined;
  denial: Denial | undefined;
  refusal: Refusal | undefined;
  /** Why the lock is held no more, though it was not released. */
  lost: string | undefined;
  #leaseMs = 0;
  /** In Temporal's time, as the workflow's own clock. */
  #until = 0;
  /** The lock manager has it in its queue, or had. */
  #queued = false;
  readonly #renewals = new Set<string>();
  #release: string | undefined;
  #whenLost: () => void = () => undefined;
  #state: 'open' | 'releasing' | 'ended' = 'open';
  /** It was lost by this workflow's clock: for the lock manager it may go on. */
  #ranOut = false;
  readonly #stop: () => void;

  constructor(sender: Sender, target: Target, message: LockRequest) {
    this.sender = sender;
    this.target = target;
    this.message = message;
    this.#stop = inbox().listen(target.workflowId, (envelope) => this.#receive(envelope));
  }

  /** Whether there is an answer other than to wait. */
  get answered(): boolean {
    return Boolean(this.grant ?? this.denial ?? this.refusal) || this.lost !== undefined;
  }

  /** Whether it is held now. A grant may be received when its lease is over. */
  get held(): boolean {
    return this.grant !== undefined && this.lost === undefined && (Date.now() < this.#until || !patched());
  }

  /** Whether the lock manager may still have it in its queue: a wait ends by its time, and not by a refusal of its repeat. */
  get left(): boolean {
    const repeat = this.refusal !== undefined || (this.denial !== undefined && this.denial.reason !== 'timeout');
    return this.#queued && repeat;
  }

  /** Begins to hold what was granted: renews it until it is released or lost. */
  hold(whenLost: () => void): void {
    users.set(this.#key, (users.get(this.#key) ?? 0) + 1);
    this.#whenLost = whenLost;
    if (this.lost !== undefined) whenLost();
    else this.#keep().catch((error: unknown) => this.#lose(String(error)));
  }

  /**
   * Releases it, unless somebody else in this workflow has the same lock. What cannot be released runs out.
   * @param answered waits for the answer, for seconds at most: a release that is refused shows that the lock was lost.
   */
  async release({ answered }: { readonly answered: boolean }): Promise<void> {
    this.#state = 'releasing';
    const left = (users.get(this.#key) ?? 1) - 1;
    if (left > 0) users.set(this.#key, left);
    else users.delete(this.#key);
    try {
      if (left > 0 || !this.grant) return;
      const gone = this.lost !== undefined;
      if (gone && !(this.#ranOut && patched())) return;
      await this.#send({ type: 'lock.release', lock_id: this.grant.lock_id });
      if (!answered || gone || !patched()) return;
      const summary = `releases the lock on ${this.message.resources.join(', ')}`.slice(0, 200);
      await wf.condition(() => this.#state === 'ended' || this.lost !== undefined, RELEASE_WAIT_MS, { summary });
    } finally {
      this.close();
    }
  }

  /** Takes back a request; what is granted meanwhile is released by it. */
  async cancel(): Promise<void> {
    this.close();
    await this.#send({ type: 'lock.cancel', request: this.message.id });
  }

  close(): void {
    this.#state = 'ended';
    this.#stop();
  }

  get #key(): string {
    return `${this.target.workflowId} ${this.grant?.lock_id}`;
  }

  async #send(fields: { readonly type: keyof typeof lockMessages; readonly [field: string]: unknown }): Promise<void> {
    const schema: z.ZodType<z.infer<(typeof lockMessages)[keyof typeof lockMessages]>> = lockMessages[fields.type];
    const message = compose(schema, this.sender, fields);
    if (fields.type === 'lock.renew') this.#renewals.add(message.id);
    if (fields.type === 'lock.release') this.#release = message.id;
    await send(this.sender, this.target, message);
  }

  #receive(envelope: Envelope): void {
    const { type, in_reply_to: answers = '', request, lock_id: lockId } = envelope;
    if (this.#release !== undefined && answers === this.#release) return this.#released(envelope);
    const own = answers === this.message.id || request === this.message.id;
    const held = this.grant !== undefined && lockId === this.grant.lock_id;
    const renewal = this.#renewals.delete(answers);
    switch (type) {
      case 'lock.queued':
        if (own) this.#queued = true;
        break;
      case 'lock.granted':
        if (own && !this.answered) this.grant = granted.safeParse(envelope).data;
        if (own || held) this.#extend(envelope);
        break;
      case 'lock.renewed':
        if (own || held) this.#extend(envelope);
        break;
      case 'lock.denied':
        this.#denied(envelope, own);
        break;
      case 'lock.expired':
      case 'lock.released':
      case 'lock.cancelled':
        if (own || held) this.#lose(type === 'lock.expired' ? 'the lease has run out' : `it was answered ${type}`);
        break;
      case 'error': {
        const refusal = refusalIn(envelope);
        if (own && !this.answered) this.refusal = refusal;
        else if (renewal) this.#lose(`the renewal was refused: ${refusal?.reason}`);
        break;
      }
    }
  }

  #released(envelope: Envelope): void {
    const refusal = refusalIn(envelope);
    if (refusal?.code === 'not_holder') this.lost ??= `the release was refused: ${refusal.reason}`;
    this.#state = 'ended';
  }

  /** A denial after a wait releases all that its agent holds at the manager; it names some of it only. */
  #denied(envelope: Envelope, own: boolean): void {
    const { data: denial } = denied.safeParse(envelope);
    if (own && !this.answered) this.denial = denial;
    if (!denial || !this.grant || envelope.to !== this.message.from) return;
    const { reason, released, released_count: count = released.length, seq } = denial;
    const named = released.includes(this.grant.lock_id);
    if (!named && (count <= released.length || !patched())) return;
    const ordered = seq > 0 && this.grant.seq > 0;
    if (named || (ordered && this.grant.seq < seq))
      this.#lose(`it was given up, because another lock was denied: ${reason}`);
    // Where it is not known which of them came first, the lock manager says whether it is held.
    else if (!ordered) void this.#renew();
  }

  #extend(envelope: Envelope): void {
    const { data } = lease.safeParse(envelope);
    if (!data) return;
    this.#leaseMs = data.lease_seconds * 1000;
    this.#until = Math.max(this.#until, data.lease_expires_at);
  }

  async #keep(): Promise<void> {
    const about = `renews the lock on ${this.message.resources.join(', ')}`.slice(0, 200);
    const over = () => this.#state !== 'open' || this.lost !== undefined;
    while (!over()) {
      const left = this.#until - Date.now();
      if (left <= 0) {
        this.#ranOut = true;
        return this.#lose('the lease has run out');
      }
      const pause = Math.min(left, this.#leaseMs / (RENEWALS_A_LEASE + 1));
      if ((await wf.condition(over, pause, { summary: about })) || Date.now() >= this.#until) continue;
      // Not awaited: the lease may end while it is under way.
      void this.#renew();
    }
  }

  async #renew(): Promise<void> {
    try {
      await this.#send({ type: 'lock.renew', lock_id: this.grant?.lock_id });
    } catch (error) {
      this.#lose(`the renewal has failed: ${String(error)}`);
    }
  }

  #lose(reason: string): void {
    if (this.#state !== 'open' || this.lost !== undefined) return;
    this.lost = reason;
    this.#whenLost();
  }
}
