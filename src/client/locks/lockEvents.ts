import type { LogEvent } from '../../envelope/calls.ts';
import { SYNOD, type Envelope } from '../../envelope/envelope.ts';
import type { LockConnection } from './connection.ts';

/** A subscription is kept for so long after its last listener, in milliseconds: who has waited for a lock often waits again. */
const LINGER_MS = 10_000;
/** Events kept of locks that have no listener yet: an event may overtake the answer that names its lock. */
const MAX_EARLY = 1_000;

/** What ends a wait or a hold. */
const TYPES = ['lock.granted', 'lock.denied', 'lock.cancelled', 'lock.expired', 'lock.released'];

/** Who follows one lock of one agent. */
export interface LockListener {
  readonly agent: string;
  readonly lockId: string;
  /** The number in the log after which its events come; those received already are delivered at once. */
  readonly after: number;
  readonly onEvent: (event: Envelope) => void;
  /** A request of the same agent was denied after its wait: all that the agent held then was released. */
  readonly onDenied?: (denial: Envelope) => void;
  /** Events may have been missed. */
  readonly onGap: () => void;
}

interface Subscription {
  readonly stop: () => void;
  readonly listeners: Set<LockListener>;
  closing: NodeJS.Timeout | undefined;
}

/** The events of one lock manager for all agents of a process, dispatched to whoever follows a lock. */
export class LockEvents {
  static readonly #all = new WeakMap<LockConnection, Map<string, LockEvents>>();

  readonly #connection: LockConnection;
  readonly #workflowId: string;
  readonly #subscriptions = new Map<string, Subscription>();
  /** The latest event of each lock. */
  readonly #early = new Map<string, Envelope>();
  /** The latest denial after a wait, by agent; only of agents that are subscribed. */
  readonly #denials = new Map<string, Envelope>();

  private constructor(connection: LockConnection, workflowId: string) {
    this.#connection = connection;
    this.#workflowId = workflowId;
  }

  static of(connection: LockConnection, workflowId: string): LockEvents {
    const managers = LockEvents.#all.get(connection) ?? new Map<string, LockEvents>();
    LockEvents.#all.set(connection, managers);
    const events = managers.get(workflowId) ?? new LockEvents(connection, workflowId);
    managers.set(workflowId, events);
    return events;
  }

  /** Delivers the events of one lock until the returned function is called. */
  listen(listener: LockListener): () => void {
    const { agent, lockId, after } = listener;
    const subscription = this.#subscriptions.get(agent) ?? this.#subscribe(agent, after);
    const { listeners } = subscription;
    listeners.add(listener);
    clearTimeout(subscription.closing);
    const since = (event: Envelope | undefined, deliver: ((event: Envelope) => void) | undefined) => {
      if (event && (event.seq ?? 0) > after) queueMicrotask(() => listeners.has(listener) && deliver?.(event));
    };
    since(this.#early.get(lockId), listener.onEvent);
    since(this.#denials.get(agent), listener.onDenied);
    return () => {
      if (listeners.delete(listener) && listeners.size === 0) this.#linger(agent, subscription);
    };
  }

  #linger(agent: string, subscription: Subscription): void {
    subscription.closing = setTimeout(() => {
      subscription.stop();
      if (this.#subscriptions.get(agent) !== subscription) return;
      this.#subscriptions.delete(agent);
      this.#denials.delete(agent);
    }, LINGER_MS);
    subscription.closing.unref();
  }

  #subscribe(agent: string, after: number): Subscription {
    const reader = this.#connection.readerOf(this.#workflowId);
    const listeners = new Set<LockListener>();
    const onEvent = ({ envelope }: LogEvent) => this.#receive(agent, listeners, envelope);
    const onGap = () => [...listeners].forEach((listener) => listener.onGap());
    const stop = reader.listen({ agent, types: TYPES, onEvent, onGap }, after);
    const subscription: Subscription = { stop, listeners, closing: undefined };
    this.#subscriptions.set(agent, subscription);
    return subscription;
  }

  #receive(agent: string, listeners: ReadonlySet<LockListener>, event: Envelope): void {
    const { lock_id: lockId, from, type, reason } = event;
    // The log has the agents' own messages, too.
    if (typeof lockId !== 'string' || from !== SYNOD) return;
    const denied = type === 'lock.denied' && reason === 'timeout';
    if (denied) this.#denials.set(agent, event);
    for (const listener of listeners) {
      if (listener.lockId === lockId) listener.onEvent(event);
      else if (denied) listener.onDenied?.(event);
    }
    this.#early.delete(lockId);
    this.#early.set(lockId, event);
    const oldest = this.#early.size > MAX_EARLY ? this.#early.keys().next() : undefined;
    if (oldest && !oldest.done) this.#early.delete(oldest.value);
  }
}
