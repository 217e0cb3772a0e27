import type { Envelope } from '../envelope/envelope.ts';
import { MAX_SUBSCRIBERS } from '../envelope/limits.ts';

/** A signal `synod.reply` that is still to be delivered. */
export interface Delivery {
  readonly to: string;
  readonly envelope: Envelope;
}

export interface SubscribersSnapshot {
  readonly agents: readonly (readonly [agent: string, workflowId: string])[];
  readonly outbox: readonly Delivery[];
}

/** Undelivered envelopes kept; a workflow that does not take its signals loses the oldest. */
const MAX_OUTBOX = 1_024;

/** The agents that are workflows (`reply_to`), and what is to be signalled to them. */
export class Subscribers {
  /** In the order of their last message. */
  readonly #agents: Map<string, string>;
  #outbox: Delivery[];

  constructor(snapshot?: SubscribersSnapshot) {
    this.#agents = new Map(snapshot?.agents ?? []);
    this.#outbox = [...(snapshot?.outbox ?? [])];
  }

  get size(): number {
    return this.#agents.size;
  }

  /** Remembers where an agent's answers go; its latest word counts. */
  subscribe(agent: string, workflowId: string): void {
    this.#agents.delete(agent);
    this.#agents.set(agent, workflowId);
    if (this.#agents.size <= MAX_SUBSCRIBERS) return;
    const oldest = this.#agents.keys().next();
    if (!oldest.done) this.#agents.delete(oldest.value);
  }

  /** Queues an envelope for whom it is: the one agent, or all of the room. */
  tell(envelope: Envelope): void {
    const targets = envelope.to === undefined ? new Set(this.#agents.values()) : [this.#agents.get(envelope.to)];
    for (const to of targets) if (to !== undefined) this.deliver({ to, envelope });
  }

  /** Queues an envelope for a workflow, remembered or not. */
  deliver(delivery: Delivery): void {
    this.#outbox.push(delivery);
    if (this.#outbox.length > MAX_OUTBOX) this.#outbox.shift();
  }

  /** Forgets the agents that have nothing pending here any more. */
  prune(pending: (agent: string) => boolean): void {
    for (const agent of this.#agents.keys()) if (!pending(agent)) this.#agents.delete(agent);
  }

  /** Forgets a workflow that could not be reached, and what waits for it. */
  unreachable(workflowId: string): void {
    for (const [agent, id] of this.#agents) if (id === workflowId) this.#agents.delete(agent);
    this.#outbox = this.#outbox.filter(({ to }) => to !== workflowId);
  }

  /** What is to be delivered, in order. */
  get outbox(): readonly Delivery[] {
    return this.#outbox;
  }

  delivered(delivery: Delivery): void {
    const at = this.#outbox.indexOf(delivery);
    if (at >= 0) this.#outbox.splice(at, 1);
  }

  snapshot(): SubscribersSnapshot {
    return { agents: [...this.#agents], outbox: this.#outbox };
  }
}
