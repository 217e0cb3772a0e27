import type { Envelope } from '../envelope/envelope.ts';
import { MAX_OUTBOX_BYTES, MAX_SUBSCRIBER_BYTES, MAX_SUBSCRIBERS, utf8Bytes } from '../envelope/limits.ts';
import { REVISION } from './revision.ts';

/** A signal `synod.reply` that is still to be delivered. */
export interface Delivery {
  readonly to: string;
  readonly envelope: Envelope;
}

export interface SubscribersSnapshot {
  readonly agents: readonly (readonly [agent: string, workflowId: string])[];
  /** What one envelope is owed to stands beside it: an envelope to a thousand workflows is kept once. */
  readonly outbox: readonly { readonly to: readonly string[]; readonly envelope: Envelope }[];
}

/** The agents that are workflows (`reply_to`), and what is to be signalled to them. */
export class Subscribers {
  /** In the order of their last message. */
  readonly #agents = new Map<string, string>();
  #agentBytes = 0;
  readonly #outbox: Delivery[] = [];
  #outboxBytes = 0;

  readonly #sizes: Sizes;

  /** @param revision the rules that the run follows: 1 counted names without what JSON adds to them. */
  constructor(snapshot?: SubscribersSnapshot, revision: number = REVISION) {
    this.#sizes = revision >= 2 ? JSON_SIZES : RAW_SIZES;
    for (const [agent, workflowId] of snapshot?.agents ?? []) this.subscribe(agent, workflowId);
    for (const { to, envelope } of snapshot?.outbox ?? []) for (const one of to) this.deliver({ to: one, envelope });
  }

  get size(): number {
    return this.#agents.size;
  }

  /** Remembers where an agent's answers go; its latest message counts. The oldest are forgotten at the bounds. */
  subscribe(agent: string, workflowId: string): void {
    this.#forget(agent);
    this.#agents.set(agent, workflowId);
    this.#agentBytes += this.#sizes.agent(agent, workflowId);
    while (this.#agents.size > MAX_SUBSCRIBERS || this.#agentBytes > MAX_SUBSCRIBER_BYTES) {
      const oldest = this.#agents.keys().next();
      if (oldest.done) break;
      this.#forget(oldest.value);
    }
  }

  #forget(agent: string): void {
    const workflowId = this.#agents.get(agent);
    if (workflowId === undefined) return;
    this.#agents.delete(agent);
    this.#agentBytes -= this.#sizes.agent(agent, workflowId);
  }

  /** Queues an envelope for whom it is: the one agent, or all of the room. */
  send(envelope: Envelope): void {
    const targets = envelope.to === undefined ? new Set(this.#agents.values()) : [this.#agents.get(envelope.to)];
    for (const to of targets) if (to !== undefined) this.deliver({ to, envelope });
  }

  /** Queues an envelope for a workflow, remembered or not. One that takes no signals loses the oldest. */
  deliver(delivery: Delivery): void {
    const last = this.#outbox.at(-1);
    this.#outbox.push(delivery);
    this.#outboxBytes += this.#costOf(delivery, last);
    while (this.#outboxBytes > MAX_OUTBOX_BYTES) this.#take(0);
  }

  #take(at: number): void {
    const before = at === 0 ? undefined : this.#outbox[at - 1];
    const [taken] = this.#outbox.splice(at, 1);
    const after = this.#outbox[at];
    if (!taken) return;
    this.#outboxBytes -= this.#costOf(taken, before);
    // What came after it may have shared its envelope.
    if (after) this.#outboxBytes += this.#costOf(after, before) - this.#costOf(after, taken);
  }

  /** Forgets the agents that have nothing pending here any more. */
  prune(pending: (agent: string) => boolean): void {
    for (const agent of this.#agents.keys()) if (!pending(agent)) this.#forget(agent);
  }

  /** Forgets a workflow that could not be reached, and what waits for it. */
  unreachable(workflowId: string): void {
    for (const [agent, id] of this.#agents) if (id === workflowId) this.#forget(agent);
    for (let at = this.#outbox.length - 1; at >= 0; at--) if (this.#outbox[at]?.to === workflowId) this.#take(at);
  }

  /** What is to be delivered, in order. */
  get outbox(): readonly Delivery[] {
    return this.#outbox;
  }

  delivered(delivery: Delivery): void {
    const at = this.#outbox.indexOf(delivery);
    if (at >= 0) this.#take(at);
  }

  snapshot(): SubscribersSnapshot {
    const outbox: { to: string[]; envelope: Envelope }[] = [];
    for (const { to, envelope } of this.#outbox) {
      const last = outbox.at(-1);
      if (last?.envelope === envelope) last.to.push(to);
      else outbox.push({ to: [to], envelope });
    }
    return { agents: [...this.#agents], outbox };
  }

  /** The bytes that a delivery adds behind another: its envelope counts once for all that follow each other. */
  #costOf({ to, envelope }: Delivery, before: Delivery | undefined): number {
    const { target, group } = this.#sizes;
    return target(to) + (before?.envelope === envelope ? 0 : utf8Bytes(JSON.stringify(envelope)) + group);
  }
}

/** What subscribers and deliveries take in the snapshot, in bytes. */
interface Sizes {
  readonly agent: (agent: string, workflowId: string) => number;
  readonly target: (to: string) => number;
  /** JSON around an envelope and its targets. */
  readonly group: number;
}

const JSON_SIZES: Sizes = {
  agent: (agent, workflowId) => utf8Bytes(JSON.stringify([agent, workflowId])) + 1,
  target: (to) => utf8Bytes(JSON.stringify(to)) + 1,
  group: utf8Bytes('{"to":[],"envelope":},'),
};
const RAW_SIZES: Sizes = {
  agent: (agent, workflowId) => agent.length + utf8Bytes(workflowId),
  target: (to) => utf8Bytes(to) + 3,
  group: 0,
};
