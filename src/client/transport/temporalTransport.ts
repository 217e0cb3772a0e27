import { WithStartWorkflowOperation, type Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import type { Target } from '../../envelope/address.ts';
import { received, type Received, type ReceiveArgs } from '../../envelope/calls.ts';
import { publicState, replies, type Base, type Envelope } from '../../envelope/envelope.ts';
import type { Json } from '../../envelope/fields.ts';
import { plain } from '../../envelope/plain.ts';
import { lastAnswer, refusedBy, standingOf } from './closed.ts';
import { classify } from './faults.ts';
import type { Transport } from './transport.ts';

/** An answer takes milliseconds; after so long something is amiss. */
const SILENCE_MS = 10_000;

/** Straight to the workflows, by a Temporal client. */
export class TemporalTransport implements Transport {
  readonly #client: Client;
  readonly #taskQueue: string;

  constructor(client: Client, taskQueue: string) {
    this.#client = client;
    this.#taskQueue = taskQueue;
  }

  async request(target: Target, messages: readonly Base[]): Promise<Envelope[][]> {
    const { opening } = target;
    const opens = messages.some(({ type }) => type === opening);
    try {
      return await this.#asked(target, messages, opens);
    } catch (error) {
      const { kind } = classify(error);
      if (kind !== 'gone' && kind !== 'ended') throw error;
      const answers = await this.#unreached(target, messages);
      if (answers) return answers;
      // What is never opened, a room or a lock manager, is started by whoever finds it missing.
      if (opening !== undefined) throw error;
      return await this.#asked(target, messages, true);
    }
  }

  async receive(workflowId: string, args: ReceiveArgs, signal: AbortSignal): Promise<Received> {
    const handle = this.#client.workflow.getHandle(workflowId);
    const call = async () => await handle.executeUpdate('receive', { args: [args] });
    return received.parse(await this.#client.withAbortSignal(signal, call));
  }

  async next(workflowId: string, args: ReceiveArgs, signal: AbortSignal): Promise<Received> {
    return await this.receive(workflowId, args, signal);
  }

  async view(
    workflowId: string,
    query: { readonly [field: string]: Json } | undefined,
  ): Promise<{ [field: string]: Json } | undefined> {
    try {
      const handle = this.#client.workflow.getHandle(workflowId);
      return publicState.parse(await (query ? handle.query('view', query) : handle.query('view')));
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw error;
    }
  }

  async #asked(target: Target, messages: readonly Base[], start: boolean): Promise<Envelope[][]> {
    const call = start ? this.#updateWithStart(target, messages) : this.#update(target, messages);
    return replies.parse(await this.#answered(target.workflowId, call));
  }

  /** The answers in the place of a workflow that is not there; undefined when it is to be asked (again). */
  async #unreached({ opening, workflowId }: Target, messages: readonly Base[]): Promise<Envelope[][] | undefined> {
    const standing = await standingOf(this.#client, workflowId);
    if (standing.kind === 'ended' && opening !== undefined)
      return messages.map((message) => lastAnswer(message, standing.result, opening));
    if (standing.kind !== 'free' || opening === undefined || messages.some(({ type }) => type === opening))
      return undefined;
    return messages.map((message) => [refusedBy(message, 'unknown', `there is no ${workflowId}`)]);
  }

  /** Says so where nobody answers: the server keeps an update for a worker that may never come. */
  async #answered<T>(workflowId: string, call: Promise<T>): Promise<T> {
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

  async #update({ workflowId }: Target, messages: readonly Base[]): Promise<unknown> {
    return await this.#client.workflow.getHandle(workflowId).executeUpdate('request', { args: [messages] });
  }

  async #updateWithStart(target: Target, messages: readonly Base[]): Promise<unknown> {
    const { room, workflowType, workflowId, opening, config } = target;
    const startWorkflowOperation = new WithStartWorkflowOperation(workflowType, {
      workflowId,
      taskQueue: this.#taskQueue,
      args: [{ room, ...(config ? { config } : {}) }],
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: summaryOf(target, messages),
      workflowIdReusePolicy: opening === undefined ? 'ALLOW_DUPLICATE' : 'ALLOW_DUPLICATE_FAILED_ONLY',
    });
    // The update's result counts; the handle's own promise must not become an unhandled rejection.
    startWorkflowOperation.workflowHandle().catch(() => undefined);
    return await this.#client.workflow.executeUpdateWithStart('request', { args: [messages], startWorkflowOperation });
  }
}

/** What the workflow is called in Temporal's Web UI. */
function summaryOf({ room, workflowType, opening: type }: Target, messages: readonly Base[]): string {
  const opening = messages.find((message) => message.type === type);
  const title: unknown = opening && Reflect.get(opening, 'title');
  return typeof title === 'string' ? plain(title) : `${workflowType} of ${room}`;
}
