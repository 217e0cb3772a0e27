import { z } from 'zod';
import type { Envelope } from '../../envelope/envelope.ts';
import { json, type Json } from '../../envelope/fields.ts';
import { SynodError, type RefusalCode } from '../../envelope/refusal.ts';
import { taskMessages, type TaskMessage } from '../../envelope/task.ts';
import { taskTarget } from '../../envelope/targets.ts';
import { Lease } from '../leases/lease.ts';
import { confirmed, type Term } from '../leases/term.ts';
import { isRefusedWith, reasonOf, refusalOf } from '../messages/answers.ts';
import { compose } from '../messages/compose.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';
import { withGrace } from '../timing/timing.ts';
import type { Candidate } from './candidates.ts';
import { TaskFailure, type Handler, type WorkReport } from './handler.ts';

/** What is left of an envelope's 16 KiB for a result, beside the names and ids around it. */
const MAX_RESULT_BYTES = 14_000;
/** How the server says that an attempt is over. */
const OVER = ['not_holder', 'stale_token', 'closed', 'unknown'] as const satisfies readonly RefusalCode[];

const details = z.object({ title: z.string(), input: json.optional(), omitted: z.array(z.string()).optional() });

/** What an attempt needs of the worker that makes it. */
export interface Worker {
  readonly connection: SharedConnection;
  readonly agent: string;
  readonly room: string;
  readonly handler: Handler;
  readonly signal: AbortSignal;
  readonly leases: Map<string, Lease>;
  readonly report: (report: WorkReport) => void;
}

type Ended =
  | { readonly kind: 'completed'; readonly result: Json | undefined }
  | { readonly kind: 'failed'; readonly reason: string; readonly retry: boolean };

type Verb = 'task.renew' | 'task.complete' | 'task.fail' | 'task.release';

/** One attempt at a task, from its ack to the answer to how it ended. */
export class Attempt {
  readonly #worker: Worker;
  readonly #candidate: Candidate;
  readonly #token: number;

  /** @param token the number of the attempt. */
  constructor(worker: Worker, candidate: Candidate, token: number) {
    this.#worker = worker;
    this.#candidate = candidate;
    this.#token = token;
  }

  /** Does the task, where its lease holds, and says how it ended. */
  async make(granted: Term): Promise<void> {
    const { signal } = this.#worker;
    // What was claimed before the stop and answered after it is handed back as it came.
    if (signal.aborted) return await this.#end({ kind: 'failed', reason: 'stopped', retry: true }, undefined);
    const renew = async () => await this.#send('task.renew', { lease_seconds: granted.leaseMs / 1000 });
    const term = await confirmed(granted, renew);
    if ('refused' in term) return this.#refused(term.refused);
    const lease = new Lease(term, renew);
    const { leases } = this.#worker;
    const { taskId } = this.#candidate;
    leases.set(taskId, lease);
    try {
      this.#report('started');
      await this.#end(await this.#run(lease), lease);
    } finally {
      lease.close();
      leases.delete(taskId);
    }
  }

  /** Says how it ended, once: the message keeps its id however often it has to be sent. */
  async #end(ended: Ended, lease: Lease | undefined): Promise<void> {
    const { signal } = this.#worker;
    if (lease?.lost) {
      // For the server it may go on, as where it has given time back.
      if (lease.ranOut) this.handBack();
      return this.#lost(String(lease.signal.reason));
    }
    const leftMs = lease?.leftMs;
    lease?.close();
    // Work that was stopped is handed back; what cannot succeed stays failed all the same.
    const released = signal.aborted && ended.kind === 'failed' && ended.retry;
    const send = async (end: AbortSignal) => {
      if (released) return await this.#send('task.release', {}, end);
      return ended.kind === 'completed'
        ? await this.#send('task.complete', { result: ended.result }, end)
        : await this.#send('task.fail', { reason: ended.reason, retry: ended.retry }, end);
    };
    // A result is worth the whole lease, also to a worker that is stopped; what is handed back comes free by itself.
    const answers = await withGrace(signal, send, released ? undefined : leftMs);
    const [answer] = answers ?? [];
    if (!answer) this.#lost(reasonOf(answer));
    else if (answer.type === 'error') this.#refused(answer);
    else if (released) this.#report('released');
    else if (ended.kind === 'completed') this.#report('completed');
    else this.#worker.report({ kind: 'failed', ...this.#about, reason: ended.reason });
  }

  /** The attempt is over for the server; or it does not take what it was sent, and nobody need wait for the lease to end. */
  #refused(answer: Envelope | undefined): void {
    if (isRefusedWith(answer, ...OVER)) return this.#lost(reasonOf(answer));
    const { code, reason } = refusalOf(answer);
    this.#worker.report({ kind: 'refused', ...this.#about, code, reason });
    this.#lastly('task.fail', { reason: `${code}: ${reason}`.slice(0, 1_000), retry: false });
  }

  /** Gives the task to whoever claims it next. */
  handBack(): void {
    this.#lastly('task.release');
  }

  /** Sent once, for seconds at most; what does not arrive ends with its lease. */
  #lastly(type: Verb, fields: object = {}): void {
    const { connection } = this.#worker;
    const send = async (end: AbortSignal) => await this.#send(type, fields, end);
    connection.beforeClosing(withGrace(AbortSignal.abort(), send)).catch(() => undefined);
  }

  get #about(): { readonly taskId: string; readonly token: number } {
    return { taskId: this.#candidate.taskId, token: this.#token };
  }

  #report(kind: 'started' | 'completed' | 'released'): void {
    this.#worker.report({ kind, ...this.#about });
  }

  #lost(reason: string): void {
    this.#worker.report({ kind: 'lost', ...this.#about, reason });
  }

  /** The replies to a message; what cannot even be composed counts as refused. */
  async #send(type: Verb, fields: object = {}, end?: AbortSignal): Promise<readonly Envelope[]> {
    const { agent, connection, room } = this.#worker;
    const { taskId } = this.#candidate;
    const schema: z.ZodType<TaskMessage> = taskMessages[type];
    try {
      const message = compose(schema, agent, { type, task_id: taskId, attempt: this.#token, ...fields });
      return await connection.send(taskTarget(room, taskId), message, end);
    } catch (error) {
      if (!(error instanceof SynodError) || type === 'task.renew') throw error;
      const { code, reason } = error;
      return [{ type: 'error', id: '', from: agent, ts: '', code, reason }];
    }
  }

  /** Runs the handler; whatever it does, it comes to an end. */
  async #run(lease: Lease): Promise<Ended> {
    const { handler, room, signal } = this.#worker;
    try {
      const { title, input } = await this.#describe(lease.signal);
      const ends = AbortSignal.any([lease.signal, signal]);
      const result = await handler({ room, ...this.#about, title, input, signal: ends });
      const unfit = resultFault(result);
      return unfit === undefined
        ? { kind: 'completed', result: result ?? undefined }
        : { kind: 'failed', reason: unfit, retry: false };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return {
        kind: 'failed',
        // Cut and mended so that no half of a character is left, which no envelope may hold.
        reason: (reason || 'failed').slice(0, 1_000).replace(/\p{Surrogate}/gu, '\ufffd'),
        retry: error instanceof TaskFailure ? error.retry : true,
      };
    }
  }

  /** What is to be done: from the announcement, or from the task itself. */
  async #describe(signal: AbortSignal): Promise<z.infer<typeof details>> {
    const { connection, room } = this.#worker;
    const { announcement, taskId } = this.#candidate;
    const announced = details.safeParse(announcement);
    if (announced.success && !announced.data.omitted) return announced.data;
    return details.parse(await connection.view(taskTarget(room, taskId).workflowId, undefined, signal));
  }
}

/** Why a result cannot be sent; doing the work again would not mend it. */
function resultFault(result: unknown): string | undefined {
  if (result === undefined) return undefined;
  if (!json.safeParse(result).success) return 'the result is not JSON';
  return Buffer.byteLength(JSON.stringify(result)) > MAX_RESULT_BYTES
    ? 'the result is too large for an envelope: store it elsewhere and return where'
    : undefined;
}
