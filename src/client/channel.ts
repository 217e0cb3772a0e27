import { WithStartWorkflowOperation, type Client } from '@temporalio/client';
import { z } from 'zod';
import { envelopeLike, type Base, type Envelope } from '../envelope/envelope.ts';
import type { Json } from '../envelope/fields.ts';
import { MAX_REQUEST_BYTES, MAX_REQUEST_ENVELOPES } from '../envelope/limits.ts';
import { SynodError } from '../envelope/refusal.ts';
import { plain } from '../protocols/plain.ts';
import { lastAnswer, refusedBy, standingOf } from './closed.ts';
import { classify } from './faults.ts';
import { backoff, pause } from './timing.ts';

/** The workflow at the other end of a channel. */
export interface Target {
  readonly room: string;
  readonly workflowType: string;
  readonly workflowId: string;
  /** The message type that opens it; absent for those that the first message starts. */
  readonly opening?: string | undefined;
  readonly config?: { readonly [key: string]: Json } | undefined;
}

interface Pending {
  readonly message: Base;
  readonly bytes: number;
  readonly resolve: (replies: Envelope[]) => void;
  readonly reject: (error: unknown) => void;
}

const replies = z.array(z.array(envelopeLike));

/** An answer takes milliseconds; after so long something is amiss. */
const SILENCE_MS = 10_000;

/** Told about each call that has to be repeated. */
export type OnRetry = (about: { workflowId: string; attempt: number; error: unknown }) => void;

/**
 * One process's way to one workflow: at most one `request` is in flight, and what comes meanwhile goes together in the
 * next one (group commit). Refusals that pass by themselves are repeated here, with the same envelopes, until they do.
 */
export class Channel {
  readonly #client: Client;
  readonly #taskQueue: string;
  readonly #target: Target;
  readonly #closed: AbortSignal;
  readonly #onRetry: OnRetry;
  #queue: Pending[] = [];
  #busy = false;

  /** @param closed fires when nothing is to be sent any more. */
  constructor(client: Client, taskQueue: string, target: Target, closed: AbortSignal, onRetry: OnRetry) {
    this.#client = client;
    this.#taskQueue = taskQueue;
    this.#target = target;
    this.#closed = closed;
    this.#onRetry = onRetry;
  }

  get idle(): boolean {
    return !this.#busy && this.#queue.length === 0;
  }

  /** Sends a message that passed its schema; resolves to the replies to it. */
  async send(message: Base): Promise<Envelope[]> {
    const bytes = Buffer.byteLength(JSON.stringify(message)) + 1;
    return await new Promise((resolve, reject) => {
      this.#queue.push({ message, bytes, resolve, reject });
      if (!this.#busy) void this.#pump();
    });
  }

  async #pump(): Promise<void> {
    this.#busy = true;
    while (this.#queue.length > 0) {
      const batch = this.#next();
      try {
        const answers = await this.#request(batch.map(({ message }) => message));
        for (const [i, { resolve }] of batch.entries()) resolve(answers[i] ?? []);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#busy = false;
  }

  #next(): Pending[] {
    let bytes = 2;
    const end = this.#queue.findIndex(
      (pending, i) => (bytes += pending.bytes) > MAX_REQUEST_BYTES || i === MAX_REQUEST_ENVELOPES,
    );
    return this.#queue.splice(0, end < 0 ? this.#queue.length : Math.max(end, 1));
  }

  async #request(messages: readonly Base[]): Promise<Envelope[][]> {
    const { opening, workflowId } = this.#target;
    const opens = messages.some(({ type }) => type === opening);
    // What is never opened, a room or a lock manager, is started by whoever finds it missing.
    let start = opens;
    for (let attempt = 0; ; attempt++) {
      try {
        return replies.parse(await this.#answered(start ? this.#updateWithStart(messages) : this.#update(messages)));
      } catch (error) {
        const fault = classify(error);
        if (this.#closed.aborted) throw new Error(`disconnected before ${workflowId} had answered`, { cause: error });
        if (fault.kind === 'fatal') throw fault.error;
        if (fault.kind !== 'retry') {
          const answers = await this.#unreached(messages);
          if (answers) return answers;
          start = opens || opening === undefined;
        }
        this.#onRetry({ workflowId, attempt, error });
        await pause(backoff(attempt), this.#closed);
      }
    }
  }

  /** The answers in the place of a workflow that is not there; undefined when it is to be asked (again). */
  async #unreached(messages: readonly Base[]): Promise<Envelope[][] | undefined> {
    const { opening, workflowId } = this.#target;
    try {
      const standing = await standingOf(this.#client, workflowId);
      if (standing.kind === 'ended' && opening !== undefined)
        return messages.map((message) => lastAnswer(message, standing.result, opening));
      if (standing.kind !== 'free' || opening === undefined || messages.some(({ type }) => type === opening))
        return undefined;
      return messages.map((message) => [refusedBy(message, 'unknown', `there is no ${workflowId}`)]);
    } catch (error) {
      const fault = classify(error);
      if (fault.kind === 'fatal') throw fault.error;
      return undefined;
    }
  }

  /** What the workflow is called in Temporal's Web UI. */
  #summary(messages: readonly Base[]): string {
    const opening = messages.find(({ type }) => type === this.#target.opening);
    const title: unknown = opening && Reflect.get(opening, 'title');
    return typeof title === 'string' ? plain(title) : `${this.#target.workflowType} of ${this.#target.room}`;
  }

  /** Says so where nobody answers: the server keeps an update for a worker that may never come. */
  async #answered<T>(call: Promise<T>): Promise<T> {
    const { workflowId } = this.#target;
    const silent = setTimeout(() => {
      process.emitWarning(
        `synod: no answer from ${workflowId} for ${SILENCE_MS / 1000} s: does a worker poll the task queue "${this.#taskQueue}"? (synod worker)`,
      );
    }, SILENCE_MS);
    try {
      return await call;
    } finally {
      clearTimeout(silent);
    }
  }

  async #update(messages: readonly Base[]): Promise<unknown> {
    return await this.#client.workflow
      .getHandle(this.#target.workflowId)
      .executeUpdate('request', { args: [messages] });
  }

  async #updateWithStart(messages: readonly Base[]): Promise<unknown> {
    const { room, workflowType, workflowId, opening, config } = this.#target;
    const startWorkflowOperation = new WithStartWorkflowOperation(workflowType, {
      workflowId,
      taskQueue: this.#taskQueue,
      args: [{ room, ...(config ? { config } : {}) }],
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: this.#summary(messages),
      workflowIdReusePolicy: opening === undefined ? 'ALLOW_DUPLICATE' : 'ALLOW_DUPLICATE_FAILED_ONLY',
    });
    // The update tells how it went; the handle's own promise must not be left to reject unheard.
    startWorkflowOperation.workflowHandle().catch(() => undefined);
    return await this.#client.workflow.executeUpdateWithStart('request', { args: [messages], startWorkflowOperation });
  }
}

/** The replies, or the first of them thrown where it is a refusal. */
export function accepted(answers: readonly Envelope[]): readonly Envelope[] {
  const [first] = answers;
  if (first?.type === 'error') throw asError(first);
  return answers;
}

const errorEnvelope = z.object({
  code: z.custom<SynodError['code']>((value) => typeof value === 'string'),
  reason: z.string(),
});

/** A refusal as an error to throw. */
export function asError(envelope: Envelope): SynodError {
  const { code, reason } = errorEnvelope.parse(envelope);
  return new SynodError(code, reason);
}

/** What a reply says of itself where it is not the one that was hoped for. */
export function reasonOf(envelope: Envelope | undefined): string {
  const refused = errorEnvelope.safeParse(envelope);
  return refused.success ? `${refused.data.code}: ${refused.data.reason}` : (envelope?.type ?? 'no answer');
}
