import * as wf from '@temporalio/workflow';
import type { PublishInput, SynodActivities } from '../src/envelope/activities.ts';
import type { LogEvent } from '../src/envelope/calls.ts';
import type { BoardRow } from '../src/envelope/room.ts';
import type { Mirror } from '../src/host/mirror.ts';
import type { PendingEffect } from '../src/host/snapshot.ts';
import type { Subscribers } from '../src/host/subscribers.ts';

/** Events are published to the room at once, and then at most once in so many milliseconds: an activity beside each request halves the rate. */
const MIRROR_INTERVAL_MS = 1_000;
/** Signals to other workflows under way at once. */
const MAX_DELIVERIES = 50;
/** Effects under way at once: a thousand locks may be lost at one instant. */
const MAX_EFFECTS = 50;
/** A rollback that has failed so often, over some five minutes, ends as failed; the protocol decides what follows. */
const MAX_ROLLBACKS = 15;
/** How long a run that hands over waits for signals under way, in milliseconds; the next run repeats what is left. */
const SETTLE_MS = 5_000;
/** A workflow task is done in so many milliseconds, also on a busy machine. */
const TASK_MS = 300;

/** What the dispatcher needs of a host. */
interface Sender {
  readonly mirror: Mirror;
  readonly subscribers: Subscribers;
  readonly effects: readonly PendingEffect[];
  readonly row: BoardRow | undefined;
  readonly result: object | undefined;
  /** When it was started, epoch milliseconds; the same over all its runs. */
  readonly started: number;
  effectEnded(key: string, failure: string | undefined, now: number): void;
}

const RETRY = { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' } as const;

const activities = wf.proxyActivities<SynodActivities>({ startToCloseTimeout: '30 seconds', retry: RETRY });

/** Carries out what the host leaves to be done: publishes to the room, signals workflows, runs effects. No message waits for it. */
export class Dispatcher {
  /** Nothing is started any more: the next run does it. */
  handingOver = false;
  readonly #sender: Sender;
  readonly #onEnded: () => void;
  readonly #room: string;
  readonly #source: string;
  #mirroring = false;
  /** Until then the mirror pauses; undefined while it publishes. */
  #pausesUntil: number | undefined;
  #lastMirrored = Number.NEGATIVE_INFINITY;
  #started = 0;
  readonly #deliveringTo = new Set<string>();
  readonly #running = new Set<string>();

  /** @param onEnded what was under way has ended: there may be more to dispatch, and an effect may have changed the state. */
  constructor(sender: Sender, room: string, source: string, onEnded: () => void) {
    this.#onEnded = onEnded;
    this.#sender = sender;
    this.#room = room;
    this.#source = source;
  }

  /** Starts whatever is due and not under way; says whether that was anything. */
  dispatch(): boolean {
    if (this.handingOver) return false;
    const before = this.#started;
    if (!this.#mirroring && this.#sender.mirror.pending > 0) this.#background(this.#mirror());
    for (const { to } of this.#sender.subscribers.outbox) {
      if (this.#deliveringTo.size >= MAX_DELIVERIES) break;
      if (!this.#deliveringTo.has(to)) this.#background(this.#deliver(to));
    }
    for (const effect of this.#sender.effects) {
      if (this.#running.size >= MAX_EFFECTS) break;
      if (!this.#running.has(effect.key)) this.#background(this.#run(effect));
    }
    return this.#started > before;
  }

  /** Nothing is left to be published, signalled or run. */
  get idle(): boolean {
    const { mirror, subscribers, effects } = this.#sender;
    return !this.#mirroring && mirror.pending === 0 && subscribers.outbox.length === 0 && effects.length === 0;
  }

  /** Nothing is under way that could end while this workflow task runs. */
  quiescent(now: number): boolean {
    const mirrors = this.#mirroring && (this.#pausesUntil === undefined || this.#pausesUntil - now < TASK_MS);
    return !mirrors && this.#deliveringTo.size === 0 && this.#running.size === 0;
  }

  /** Waits for the signals under way, for at most {@link SETTLE_MS}. */
  async settled(): Promise<void> {
    if (this.#deliveringTo.size > 0) await wf.condition(() => this.#deliveringTo.size === 0, SETTLE_MS);
  }

  /** Cancelling the workflow ends these with it, and their failures are dealt with where they arise. */
  #background(work: Promise<void>): void {
    this.#started += 1;
    work.then(this.#onEnded, (error: unknown) => {
      if (!wf.isCancellation(error)) wf.log.warn('synod: a delivery failed', { error: String(error) });
      this.#onEnded();
    });
  }

  async #mirror(): Promise<void> {
    this.#mirroring = true;
    try {
      while (!this.handingOver && this.#sender.mirror.pending > 0) {
        const pause = this.#lastMirrored + MIRROR_INTERVAL_MS - Date.now();
        if (pause > 0) {
          this.#pausesUntil = this.#lastMirrored + MIRROR_INTERVAL_MS;
          await wf.sleep(pause, { summary: 'publishes to the room at most once a second' });
          this.#pausesUntil = undefined;
        }
        if (this.handingOver) return;
        this.#lastMirrored = Date.now();
        const events = this.#sender.mirror.take(this.#source, Date.now());
        await activities.synodPublish.executeWithOptions({ summary: `publishes to room ${this.#room}` }, [
          this.#publication(events),
        ]);
        this.#sender.mirror.published();
      }
    } finally {
      this.#mirroring = false;
    }
  }

  #publication(events: readonly LogEvent[]): PublishInput {
    const { row, result, started } = this.#sender;
    return {
      room: this.#room,
      publication: {
        source: this.#source,
        events: [...events],
        life: started,
        ...(row ? { row } : {}),
        ...(result ? { final: true } : {}),
      },
    };
  }

  async #deliver(to: string): Promise<void> {
    this.#deliveringTo.add(to);
    const { subscribers } = this.#sender;
    try {
      for (;;) {
        const delivery = this.handingOver ? undefined : subscribers.outbox.find((pending) => pending.to === to);
        if (!delivery) return;
        await wf.getExternalWorkflowHandle(to).signal('synod.reply', delivery.envelope);
        subscribers.delivered(delivery);
      }
    } catch (error) {
      if (wf.isCancellation(error)) throw error;
      subscribers.unreachable(to);
    } finally {
      this.#deliveringTo.delete(to);
    }
  }

  async #run(effect: PendingEffect): Promise<void> {
    this.#running.add(effect.key);
    let failure: string | undefined;
    try {
      const input = { key: effect.key, room: this.#room, source: this.#source, input: effect.input };
      if (effect.name === 'rollback')
        await activities.synodRollback.executeWithOptions(
          { summary: 'rolls back what a lost lock has begun', retry: { ...RETRY, maximumAttempts: MAX_ROLLBACKS } },
          [input],
        );
      else await activities.synodEscalate.executeWithOptions({ summary: 'escalates' }, [input]);
    } catch (error) {
      if (wf.isCancellation(error)) throw error;
      failure = String(error);
    }
    this.#running.delete(effect.key);
    this.#sender.effectEnded(effect.key, failure, Date.now());
  }
}
