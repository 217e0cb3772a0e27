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
import type { Speaker } from './speaker.ts';

const granted = z.object({
  lock_id: z.string(),
  tokens: tokensByResource,
});
const lease = z.object({
  lease_seconds: z.number(),
  lease_expires_at: z.string().transform((value) => parseTimestamp(value) ?? 0),
});
const denied = z.object({
  reason: z.string(),
  released: z.array(z.string()).default([]),
  retry: z.number().default(0),
  retry_after_seconds: z.number().default(0),
});

export type Grant = z.infer<typeof granted>;
export type Denial = z.infer<typeof denied>;
export type LockRequest = z.infer<(typeof lockMessages)['lock.request']>;

/** How often each lock is used in this workflow: one agent that asks twice for the same has one lock. */
const users = new Map<string, number>();

/** One request for locks, from its first word to its last: what became of it, and the lease while it is held. */
export class Claim {
  readonly message: LockRequest;
  readonly target: Target;
  readonly speaker: Speaker;
  grant: Grant | undefined;
  denial: Denial | undefined;
  refusal: Refusal | undefined;
  /** Why the lock is held no more, though it was not released. */
  lost: string | undefined;
  #leaseMs = 0;
  /** In Temporal's time, as the workflow's own clock. */
  #until = 0;
  readonly #renewals = new Set<string>();
  #whenLost: () => void = () => undefined;
  #ended = false;
  readonly #stop: () => void;

  constructor(speaker: Speaker, target: Target, message: LockRequest) {
    this.speaker = speaker;
    this.target = target;
    this.message = message;
    this.#stop = inbox().listen(target.workflowId, (envelope) => this.#hear(envelope));
  }

  /** Whether there is an answer other than to wait. */
  get answered(): boolean {
    return Boolean(this.grant ?? this.denial ?? this.refusal) || this.lost !== undefined;
  }

  /** Begins to hold what was granted: renews it until it is released or lost. */
  hold(whenLost: () => void): void {
    users.set(this.#key, (users.get(this.#key) ?? 0) + 1);
    this.#whenLost = whenLost;
    if (this.lost !== undefined) whenLost();
    else this.#keep().catch((error: unknown) => this.#lose(String(error)));
  }

  /** Lets it go; whoever else in this workflow has the same lock keeps it. What cannot be released runs out. */
  async release(): Promise<void> {
    this.close();
    const left = (users.get(this.#key) ?? 1) - 1;
    if (left > 0) users.set(this.#key, left);
    else users.delete(this.#key);
    if (left > 0 || this.lost !== undefined || !this.grant) return;
    await this.#say({ type: 'lock.release', lock_id: this.grant.lock_id });
  }

  /** Takes back a request; what is granted meanwhile is released by it. */
  async cancel(): Promise<void> {
    this.close();
    await this.#say({ type: 'lock.cancel', request: this.message.id });
  }

  close(): void {
    this.#ended = true;
    this.#stop();
  }

  get #key(): string {
    return `${this.target.workflowId} ${this.grant?.lock_id}`;
  }

  async #say(fields: { readonly type: keyof typeof lockMessages; readonly [field: string]: unknown }): Promise<void> {
    const schema: z.ZodType<z.infer<(typeof lockMessages)[keyof typeof lockMessages]>> = lockMessages[fields.type];
    const message = compose(schema, this.speaker, fields);
    if (fields.type === 'lock.renew') this.#renewals.add(message.id);
    await send(this.speaker, this.target, message);
  }

  #hear(envelope: Envelope): void {
    const { type, in_reply_to: answers = '', request, lock_id: lockId } = envelope;
    const own = answers === this.message.id || request === this.message.id;
    const held = this.grant !== undefined && lockId === this.grant.lock_id;
    const renewal = this.#renewals.delete(answers);
    switch (type) {
      case 'lock.granted':
        if (own && !this.answered) this.grant = granted.safeParse(envelope).data;
        if (own || held) this.#extend(envelope);
        break;
      case 'lock.renewed':
        if (own || held) this.#extend(envelope);
        break;
      case 'lock.denied': {
        const denial = denied.safeParse(envelope).data;
        if (own && !this.answered) this.denial = denial;
        else if (this.grant && denial?.released.includes(this.grant.lock_id))
          this.#lose(`it was given up, because another lock was denied: ${denial.reason}`);
        break;
      }
      case 'lock.expired':
      case 'lock.released':
      case 'lock.cancelled':
        if (own || held) this.#lose(type === 'lock.expired' ? 'the lease has run out' : `${type} was said`);
        break;
      case 'error': {
        const refusal = refusalIn(envelope);
        if (own && !this.answered) this.refusal = refusal;
        else if (renewal) this.#lose(`the renewal was refused: ${refusal?.reason}`);
        break;
      }
    }
  }

  #extend(envelope: Envelope): void {
    const { data } = lease.safeParse(envelope);
    if (!data) return;
    this.#leaseMs = data.lease_seconds * 1000;
    this.#until = Math.max(this.#until, data.lease_expires_at);
  }

  async #keep(): Promise<void> {
    const about = `renews the lock on ${this.message.resources.join(', ')}`.slice(0, 200);
    while (!this.#ended && this.lost === undefined) {
      const left = this.#until - Date.now();
      if (left <= 0) return this.#lose('the lease has run out');
      const pause = Math.min(left, this.#leaseMs / (RENEWALS_A_LEASE + 1));
      const over = await wf.condition(() => this.#ended || this.lost !== undefined, pause, { summary: about });
      if (over || Date.now() >= this.#until) continue;
      // Not awaited: the lease may end while it is under way.
      this.#say({ type: 'lock.renew', lock_id: this.grant?.lock_id }).catch((error: unknown) => {
        if (!this.#ended) this.#lose(`the renewal has failed: ${String(error)}`);
      });
    }
  }

  #lose(reason: string): void {
    if (this.#ended || this.lost !== undefined) return;
    this.lost = reason;
    this.#whenLost();
  }
}
