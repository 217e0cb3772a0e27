import type { LogEvent, Opening } from '../envelope/calls.ts';
import type { Envelope } from '../envelope/envelope.ts';
import type { Base } from '../envelope/envelope.ts';
import type { Json } from '../envelope/fields.ts';
import { fitsBytes, MAX_STATE_BYTES } from '../envelope/limits.ts';
import { refusal } from '../envelope/refusal.ts';
import type { Context, Decided, Decision, Input, Outgoing, Protocol } from '../protocols/protocol.ts';
import { withinBudget, type HandOver } from './budget.ts';
import { Config } from './config.ts';
import { Effects } from './effects.ts';
import { Log } from './log.ts';
import { Memory } from './memory.ts';
import { Mirror } from './mirror.ts';
import { REVISION } from './revision.ts';
import { SNAPSHOT_VERSION, type Counters, type Snapshot } from './snapshot.ts';
import { fit, isAcceptance, Stamp, type Answered } from './stamp.ts';
import { Subscribers } from './subscribers.ts';

export interface CoreOptions<S> {
  readonly workflowId: string;
  readonly room: string;
  readonly config: { readonly [key: string]: Json };
  /** Epoch milliseconds, in Temporal's time. */
  readonly now: number;
  /** What an earlier run left. */
  readonly snapshot?: Snapshot<S> | undefined;
  /** The rules that the run follows. Default: the latest. */
  readonly revision?: number;
}

const NO_COUNTS: Counters = { received: 0, accepted: 0, repeated: 0, refused: 0, unhandled: 0, hops_exhausted: 0 };

/** A deadline that is handled so long after it was due, in milliseconds, was so for want of a worker: one that is merely busy, or a hand-over, takes less. */
const LATE_MS = 2_000;

/** What a workflow holds, and the one way in which a decision changes it. */
export class Core<S, M extends Base> {
  readonly protocol: Protocol<S, M>;
  readonly workflowId: string;
  readonly room: string;
  readonly config: Config;
  readonly log: Log;
  readonly memory: Memory;
  readonly mirror: Mirror;
  readonly subscribers: Subscribers;
  readonly stamp: Stamp;
  readonly effects: Effects;
  readonly counters: Counters;
  readonly started: number;
  /** The rules that this run follows. */
  readonly revision: number;
  /** Up to this number of the log `{area}.accepted` is logged, too: runs of revision 1 did that. */
  readonly acceptancesLoggedUntil: number;
  state: S;
  now: number;
  opened: Opening | undefined;
  /** Its first request did not open it: it only waits to fail. */
  spoiled: boolean;
  final: { at: number; outcome: Envelope } | undefined;
  /** Logged since the waits were last answered. */
  fresh: LogEvent[] = [];
  #lastEmitted: Envelope | undefined;
  /** When something was handled last, in this run. */
  #ranAt = Number.NEGATIVE_INFINITY;
  /** How many messages had been received when deadlines were put off last. */
  #resumedAfter: number | undefined;

  constructor(protocol: Protocol<S, M>, options: CoreOptions<S>) {
    const { workflowId, room, config, now, snapshot, revision = REVISION } = options;
    this.protocol = protocol;
    this.workflowId = workflowId;
    this.room = room;
    this.revision = revision;
    this.acceptancesLoggedUntil =
      revision < 2 ? Infinity : (snapshot?.acceptances_logged_until ?? snapshot?.log.head ?? 0);
    const { config: keys, fixedConfig: fixed } = protocol;
    const completes = protocol.opening !== undefined;
    this.config = new Config({ keys, completes, fixed }, snapshot?.config ?? config, snapshot?.config_ignored);
    this.mirror = new Mirror(protocol.urgent, snapshot?.mirror);
    this.subscribers = new Subscribers(snapshot?.subscribers, revision);
    this.log = new Log(this.config.retain, snapshot?.log);
    this.memory = new Memory(snapshot?.memory);
    this.stamp = new Stamp(workflowId);
    this.counters = { ...(snapshot?.counters ?? NO_COUNTS) };
    this.started = snapshot?.started ?? now;
    this.state = snapshot?.state ?? protocol.initial();
    this.now = now;
    this.opened = snapshot?.opened;
    this.spoiled = snapshot?.spoiled ?? false;
    this.final = snapshot?.final;
    this.#resumedAfter = snapshot?.resumed_after;
    this.effects = new Effects(`${workflowId}:${this.started}`, snapshot);
  }

  /** Whether it is one of those that are opened and complete by themselves. */
  get completes(): boolean {
    return this.protocol.opening !== undefined;
  }

  get context(): Context {
    const { now, room, workflowId, config, revision, memory } = this;
    return {
      now,
      room,
      workflowId,
      config: config.values,
      revision,
      decided: (from, key) => memory.recall(from, key) !== undefined,
    };
  }

  /** What the protocol decides; what would take its state past its budget is refused before anything changes. */
  decide(input: Input<M>): Decision<S> {
    const decision = this.protocol.decide(this.state, input, this.context);
    if ('refuse' in decision || decision.state === this.state || input.kind !== 'message') return decision;
    const {
      protocol,
      memory,
      effects: { pending: effects },
    } = this;
    const budget =
      MAX_STATE_BYTES - memory.size.pinnedBytes - (effects.length > 0 ? JSON.stringify(effects).length : 0);
    const size = protocol.size?.(decision.state);
    // What gives something back must never fail for want of room, also where effects under way have taken that.
    if (size !== undefined && protocol.size && size <= protocol.size(this.state)) return decision;
    if (size === undefined ? fitsBytes(JSON.stringify(decision.state), budget) : size <= budget) return decision;
    return { refuse: refusal('over_limit', `the state of ${this.workflowId} would pass ${MAX_STATE_BYTES} bytes`) };
  }

  /**
   * Puts off what came due while the workflow could not run, once until somebody is received again: that lasted from the first deadline
   * that was not handled in time. Nobody could renew meanwhile.
   * @param waits when the first of the held waits ends.
   */
  resume(waits: number | null): void {
    const { now, protocol, revision, counters } = this;
    const due = Math.min(protocol.nextDeadline(this.state)?.at ?? Infinity, waits ?? Infinity);
    const since = Math.max(due, this.#ranAt);
    this.#ranAt = now;
    const late = now - since > LATE_MS && revision >= 2 && this.#resumedAfter !== counters.received;
    const resumed = late ? protocol.resumed?.(this.state, { now, ms: now - since }) : undefined;
    if (!resumed || resumed.extended === 0) return;
    this.#resumedAfter = counters.received;
    const { state, extended } = resumed;
    this.commit({ state, emit: [{ type: 'synod.resumed', away_seconds: (now - since) / 1000, extended }] });
  }

  /** Applies a decision: its state, its emissions beside the replies, its effects. */
  commit(decision: Decided<S>): void {
    this.state = decision.state;
    for (const outgoing of decision.emit ?? []) this.emit(outgoing, this.now);
    for (const envelope of decision.relay ?? []) this.append(fit({ ...envelope, seq: this.log.nextSeq }));
    for (const [i, effect] of (decision.effects ?? []).entries()) {
      if (this.revision >= 2) this.effects.start(effect);
      else this.effects.startAs(`${this.workflowId}:${this.log.head}${i === 0 ? '' : `.${i}`}`, effect);
    }
    if (!this.final && this.#lastEmitted && this.protocol.outcome(this.state))
      this.final = { at: this.now, outcome: this.#lastEmitted };
  }

  /** Gives a reply its place in the log, and sends it to the workflow that it is for. An acceptance has the place of its message, `seq`. */
  reply(outgoing: Outgoing, seq: number, message: Answered): Envelope {
    if (this.revision < 2 || !isAcceptance(outgoing)) return this.emit(outgoing, this.now, message);
    const envelope = this.stamp.accepted(outgoing, seq, this.now, message);
    this.subscribers.send(envelope);
    return envelope;
  }

  /** The replies to a message at `seq` as {@link reply} made them at the time. */
  replied(replies: readonly Outgoing[], seq: number, at: number, message: Answered): Envelope[] {
    let next = seq;
    return replies.map((outgoing) =>
      seq > this.acceptancesLoggedUntil && isAcceptance(outgoing)
        ? this.stamp.accepted(outgoing, seq, at, message)
        : this.stamp.logged(outgoing, ++next, at, message),
    );
  }

  /** Logs an emission and sends it to the workflows that it is for. */
  emit(outgoing: Outgoing, at: number, answers?: Answered): Envelope {
    const envelope = this.stamp.logged(outgoing, this.log.nextSeq, at, answers);
    this.#lastEmitted = envelope;
    this.append(envelope);
    this.subscribers.send(envelope);
    return envelope;
  }

  append(envelope: Envelope): void {
    const event = this.log.append(envelope);
    this.fresh.push(event);
    // A room is what the others are mirrored to; one that nobody opened leaves its name, and its numbers, to the next.
    if (this.protocol.kind === 'room' || (this.completes && !this.opened)) return;
    const published = this.protocol.published ? this.protocol.published(envelope) : envelope;
    if (published) this.mirror.add({ ...event, envelope: published });
  }

  /** All that the next run needs. */
  snapshot(): HandOver<S> {
    return withinBudget({
      v: SNAPSHOT_VERSION,
      started: this.started,
      config: this.config.values,
      config_ignored: this.config.ignored,
      opened: this.opened,
      spoiled: this.spoiled,
      final: this.final,
      log: this.log.snapshot(),
      acceptances_logged_until: this.revision < 2 ? undefined : this.acceptancesLoggedUntil,
      memory: this.memory.snapshot(),
      subscribers: this.subscribers.snapshot(),
      mirror: this.mirror.snapshot(),
      ...this.effects.snapshot,
      counters: this.counters,
      resumed_after: this.#resumedAfter,
      state: this.state,
    });
  }
}
