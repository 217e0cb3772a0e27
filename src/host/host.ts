import type { Opening, ReceiveArgs, Received } from '../envelope/calls.ts';
import type { Base, Envelope } from '../envelope/envelope.ts';
import { formatTimestamp, type Json } from '../envelope/fields.ts';
import { UNOPENED_SECONDS } from '../envelope/limits.ts';
import type { BoardRow, Publication } from '../envelope/room.ts';
import type { Deadline, Protocol } from '../protocols/protocol.ts';
import type { HandOver } from './budget.ts';
import { typeOf } from './checks.ts';
import { Core, type CoreOptions } from './core.ts';
import { Messages } from './messages.ts';
import type { Mirror } from './mirror.ts';
import type { PendingEffect } from './snapshot.ts';
import { fitAll } from './stamp.ts';
import type { Subscribers } from './subscribers.ts';
import { Waits, type Wait } from './waits.ts';

/** What a workflow that has ended returns. */
export interface HostResult {
  /** The last envelope. */
  readonly outcome: Envelope;
  readonly opened: Opening | undefined;
}

/** Deadlines that may follow each other at one instant; more would be a protocol that never comes to rest. */
const MAX_DEADLINES_AT_ONCE = 100;

/**
 * Everything that holds for every primitive: which messages are handled, what is remembered, logged and sent to whom.
 * Deterministic and without input or output: time comes in, effects and deliveries are left for the workflow to fetch.
 */
export class Host<S, M extends Base> {
  readonly #core: Core<S, M>;
  readonly #messages: Messages<S, M>;
  readonly #waits: Waits;

  constructor(protocol: Protocol<S, M>, options: CoreOptions<S>) {
    this.#core = new Core(protocol, options);
    this.#messages = new Messages(this.#core);
    this.#waits = new Waits((wait, pause) => this.#received(wait, pause));
  }

  /** The update `request`: the replies to each message, in order. */
  request(batch: readonly unknown[], now: number): Envelope[][] {
    const replies: Envelope[][] = [];
    const early: number[] = [];
    for (const [i, raw] of batch.entries()) {
      this.#pass(now);
      if (this.#mayBeEarly(batch, i)) early.push(i);
      else replies[i] = this.#messages.handle(raw, 'update');
    }
    // Only now it is known whether the opening after them was accepted.
    for (const i of early) replies[i] = this.#messages.handle(batch[i], 'update', true);
    if (batch.length > 0) this.#requestEnded();
    return fitAll(replies);
  }

  /** Whether a message of a first request stands before what may open the workflow. */
  #mayBeEarly(batch: readonly unknown[], place: number): boolean {
    const { protocol, completes, opened, spoiled, revision } = this.#core;
    if (!completes || opened || spoiled || revision < 2) return false;
    const isOpening = (raw: unknown) => typeOf(raw) === protocol.opening;
    return !isOpening(batch[place]) && batch.slice(place + 1).some(isOpening);
  }

  /** The signal `envelope`. */
  signal(raw: unknown, now: number): void {
    this.#pass(now);
    this.#messages.handle(raw, 'signal');
    this.#requestEnded();
  }

  /** The signal `publish`, of a room. */
  publish(publication: Publication, now: number): void {
    this.#pass(now);
    this.#feed({ kind: 'publish', publication });
    this.#settle();
  }

  /** The update `receive`: calls `resolve` at once, or when there is an event for it. */
  receive(args: ReceiveArgs, now: number, resolve: (received: Received) => void): void {
    this.tick(now);
    const wait: Wait = {
      reader: args.reader,
      agents: new Set(args.agents),
      types: args.types && new Set(args.types),
      after: args.after === -1 ? this.#core.log.head : args.after,
      limit: args.limit,
      until: now + args.wait_seconds * 1000,
      resolve,
    };
    const page = this.#received(wait);
    if (page.events.length > 0 || page.truncated || args.wait_seconds === 0) resolve(page);
    else this.#waits.add(wait, this.#core.config.maxWaits, now);
  }

  /** Lets everything happen whose time has come. */
  tick(now: number): void {
    this.#pass(now);
    this.#settle();
    this.#waits.expire(this.#core.now);
  }

  /** An effect has ended; `failure` says why where it did not succeed. */
  effectEnded(key: string, failure: string | undefined, now: number): void {
    if (!this.effects.some((pending) => pending.key === key)) return;
    this.#pass(now);
    const effect = this.#core.effects.end(key);
    if (!effect) return;
    const { name, input } = effect;
    this.#feed({ kind: 'effect', name, key, input, ...(failure === undefined ? {} : { failure }) });
    this.#settle();
  }

  /** The effects that have not ended yet. */
  get effects(): readonly PendingEffect[] {
    return this.#core.effects.pending;
  }

  /** When `tick` is due next, and what for. */
  nextDeadline(): Deadline | null {
    const waits = this.#waits.nextDeadline();
    const closing = this.#closing();
    const candidates: (Deadline | null)[] = [
      this.#core.protocol.nextDeadline(this.#core.state),
      waits === null ? null : { at: waits, summary: 'a reader waits', passing: true },
      // One that has passed leaves an ended workflow with nothing to wait for but its deliveries.
      closing && closing.at >= this.#core.now ? closing : null,
    ];
    return candidates.reduce((first, next) => (next && (!first || next.at < first.at) ? next : first), null);
  }

  /** `ended` and `unopened` once the workflow has nothing left to do but to complete, or to fail. */
  phase(now: number): 'running' | 'ended' | 'unopened' {
    const closing = this.#closing();
    if (!closing || closing.at > now) return 'running';
    return this.#core.final ? 'ended' : 'unopened';
  }

  /** What it returns once it has ended. */
  get result(): HostResult | undefined {
    return this.#core.final && { outcome: this.#core.final.outcome, opened: this.#core.opened };
  }

  /** Ends all waits, so that no update is in flight when the run ends. */
  drain(retryAfterSeconds: number): void {
    this.#waits.drain(retryAfterSeconds);
  }

  /** When it was started, epoch milliseconds; the same over all its runs. */
  get started(): number {
    return this.#core.started;
  }

  get subscribers(): Subscribers {
    return this.#core.subscribers;
  }

  get mirror(): Mirror {
    return this.#core.mirror;
  }

  /** This workflow's line on the room's board. */
  get row(): BoardRow | undefined {
    return this.#core.protocol.row(this.#core.state);
  }

  /** The public state. */
  view(query: unknown, now: number): { [field: string]: Json } {
    const { protocol, state, log, config, counters, memory, final } = this.#core;
    const { queryField } = protocol;
    if (queryField !== undefined && typeof query === 'object' && query !== null && queryField in query)
      return { ...protocol.view(state, query) };
    const { entries, bytes } = log.kept;
    return {
      type: protocol.workflowType,
      room: this.#core.room,
      ...protocol.view(state),
      ...(final ? { ended_at: formatTimestamp(final.at) } : {}),
      config: { ...config.values },
      config_ignored: [...config.ignored],
      counters: { ...counters },
      log: { head: log.head, entries, bytes },
      identities: { ...memory.size },
      waits: this.#waits.count,
      subscribers: this.#core.subscribers.size,
      now: formatTimestamp(Math.max(now, this.#core.now)),
    };
  }

  /** Plain sentences for an operator. */
  details(): string {
    const { protocol, state, counters, log } = this.#core;
    const { accepted, refused, repeated } = counters;
    return `${protocol.details(state)}\nMessages: ${accepted} accepted, ${refused} refused, ${repeated} repeated. Log: ${log.head} entries.`;
  }

  /** All that the next run needs, within what it may be given. */
  snapshot(): HandOver<S> {
    return this.#core.snapshot();
  }

  /** Why its configuration is not taken, naming the key; undefined where it is. */
  get configFault(): string | undefined {
    return this.#core.config.fault;
  }

  #closing(): Deadline | null {
    const { final, completes, opened, started, config } = this.#core;
    if (final) return { at: final.at + config.lingerMs, summary: 'ended; still answers' };
    return completes && !opened ? { at: started + UNOPENED_SECONDS * 1000, summary: 'not opened' } : null;
  }

  /** Expiry comes before whatever is handled at or after its time. */
  #pass(now: number): void {
    const core = this.#core;
    core.now = Math.max(core.now, now);
    core.resume(this.#waits.nextDeadline());
    for (let i = 0; i < MAX_DEADLINES_AT_ONCE; i++) {
      const deadline = core.protocol.nextDeadline(core.state);
      if (!deadline || deadline.at > core.now) break;
      this.#feed({ kind: 'deadline' });
    }
  }

  #feed(input: Exclude<Parameters<Core<S, M>['decide']>[0], { kind: 'message' }>): void {
    const decision = this.#core.decide(input);
    if (!('refuse' in decision)) this.#core.commit(decision);
  }

  #requestEnded(): void {
    const core = this.#core;
    if (core.completes && !core.opened) core.spoiled = true;
    this.#settle();
  }

  /** Answers the waits for which something came, and forgets the workflows that wait for nothing any more. */
  #settle(): void {
    const core = this.#core;
    const { protocol, state, fresh, subscribers } = core;
    core.fresh = [];
    if (fresh.length > 0) this.#waits.wake(fresh);
    if (subscribers.size > 0) subscribers.prune((agent) => protocol.involves(state, agent));
  }

  #received(wait: Wait, retryAfterSeconds?: number): Received {
    const { log, now } = this.#core;
    const nothing = { events: [], next: wait.after, truncated: false };
    const page = retryAfterSeconds === undefined ? log.read(wait.after, wait.agents, wait.limit, wait.types) : nothing;
    return {
      ...page,
      now: formatTimestamp(now),
      ...(retryAfterSeconds ? { retry_after_seconds: retryAfterSeconds } : {}),
    };
  }
}
