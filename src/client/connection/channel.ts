import type { Target } from '../../envelope/address.ts';
import type { Base, Envelope } from '../../envelope/envelope.ts';
import { MAX_REQUEST_BYTES, MAX_REQUEST_ENVELOPES } from '../../envelope/limits.ts';
import { classify } from '../transport/faults.ts';
import { backoff, pause, unlessAborted } from '../timing/timing.ts';
import type { Transport } from '../transport/transport.ts';

/** After a batch of at least so many the next one waits until as many are there, but no longer than this, in milliseconds. */
const LARGE_BATCH = 8;
const GATHER_MS = 20;

interface Pending {
  readonly message: Base;
  readonly bytes: number;
  /** Fires when nobody waits for its answer any more. */
  readonly signal: AbortSignal | undefined;
  readonly resolve: (replies: Envelope[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Called for each call that has to be repeated. */
export type OnRetry = (about: { workflowId: string; attempt: number; error: unknown }) => void;

/**
 * One process's way to one workflow: at most one `request` is in flight, and what comes meanwhile goes together in the
 * next one (group commit). Refusals that pass by themselves are repeated here, with the same envelopes, until they do.
 */
export class Channel {
  readonly #transport: Transport;
  readonly #target: Target;
  readonly #closed: AbortSignal;
  readonly #onRetry: OnRetry;
  readonly #onIdle: () => void;
  #queue: Pending[] = [];
  #busy = false;
  /** How many messages the last batch had. */
  #lastBatchSize = 1;
  #arrived: () => void = () => undefined;

  /**
   * @param closed fires when nothing is to be sent any more.
   * @param onIdle called whenever all has been answered or given up.
   */
  constructor(
    transport: Transport,
    target: Target,
    closed: AbortSignal,
    onRetry: OnRetry,
    onIdle: () => void = () => undefined,
  ) {
    this.#transport = transport;
    this.#target = target;
    this.#closed = closed;
    this.#onRetry = onRetry;
    this.#onIdle = onIdle;
  }

  /**
   * Sends a message that passed its schema; resolves to the replies to it.
   * @param signal gives it up: rejects with its reason, and the message is not sent again. It may have arrived.
   */
  async send(message: Base, signal?: AbortSignal): Promise<Envelope[]> {
    const bytes = Buffer.byteLength(JSON.stringify(message)) + 1;
    const answers = new Promise<Envelope[]>((resolve, reject) => {
      this.#queue.push({ message, bytes, signal, resolve, reject });
      if (this.#queue.length >= this.#lastBatchSize) this.#arrived();
      if (!this.#busy) void this.#pump();
    });
    return await unlessAborted(answers, signal);
  }

  async #pump(): Promise<void> {
    this.#busy = true;
    // What is sent in one turn of the event loop goes together from the first on.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      await this.#gather();
      const batch = this.#next();
      if (batch.length === 0) continue;
      this.#lastBatchSize = batch.length;
      try {
        const answers = await this.#request(batch);
        for (const [i, { resolve }] of batch.entries()) resolve(answers[i] ?? []);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#busy = false;
    this.#onIdle();
  }

  /**
   * Those who were answered together are likely to send together again. Where each comes from a process of its own, by a hub,
   * the first would go alone otherwise, and a batch costs the same whatever it holds.
   */
  async #gather(): Promise<void> {
    if (this.#lastBatchSize < LARGE_BATCH || this.#queue.length >= this.#lastBatchSize) return;
    const all = new Promise<void>((resolve) => (this.#arrived = resolve));
    const timer = setTimeout(this.#arrived, GATHER_MS);
    await all;
    clearTimeout(timer);
  }

  #next(): Pending[] {
    this.#queue = this.#openingsFirst(this.#queue.filter(({ signal }) => !signal?.aborted));
    let bytes = 2;
    const end = this.#queue.findIndex(
      (pending, i) => (bytes += pending.bytes) > MAX_REQUEST_BYTES || i === MAX_REQUEST_ENVELOPES,
    );
    return this.#queue.splice(0, end < 0 ? this.#queue.length : Math.max(end, 1));
  }

  /** What needs a task, proposal or barrier comes after what opens it, whoever of this process was first; else in order. */
  #openingsFirst(queue: Pending[]): Pending[] {
    const { opening } = this.#target;
    if (opening === undefined) return queue;
    const opens = ({ message }: Pending) => message.type === opening;
    return queue.some(opens) ? [...queue.filter(opens), ...queue.filter((one) => !opens(one))] : queue;
  }

  async #request(batch: readonly Pending[]): Promise<Envelope[][]> {
    const { workflowId } = this.#target;
    const messages = batch.map(({ message }) => message);
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#transport.request(this.#target, messages);
      } catch (error) {
        const fault = classify(error);
        if (this.#closed.aborted) throw new Error(`disconnected before ${workflowId} had answered`, { cause: error });
        if (fault.kind === 'fatal' || batch.every(({ signal }) => signal?.aborted)) throw fault.error;
        this.#onRetry({ workflowId, attempt, error });
        await pause(backoff(attempt, fault.kind === 'retry' && fault.contended), this.#closed);
      }
    }
  }
}
