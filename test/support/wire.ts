import {
  WithStartWorkflowOperation,
  type Client,
  type WorkflowHandle,
  type WorkflowStartOptions,
} from '@temporalio/client';
import type { Duration } from '@temporalio/common';
import { z } from 'zod';

// A second reading of the wire contract, by its names alone: nothing here comes from the project's own sources.

const envelope = z.looseObject({ type: z.string(), id: z.string(), from: z.string() });
export type Envelope = z.infer<typeof envelope>;
const received = z.object({
  events: z.array(z.object({ seq: z.number(), envelope })),
  next: z.number(),
  truncated: z.boolean(),
  now: z.string(),
  retry_after_seconds: z.number().optional(),
});
export type Received = z.infer<typeof received>;
const replies = z.array(z.array(envelope));
const result = z.object({
  outcome: envelope,
  opened: z.object({ from: z.string(), idempotency_key: z.string(), body_hash: z.string() }),
});
export type Result = z.infer<typeof result>;
const view = z.record(z.string(), z.unknown());

export type WorkflowType =
  | 'taskLease'
  | 'coordinatorElection'
  | 'quorumProposal'
  | 'barrier'
  | 'lockManager'
  | 'room'
  | 'chatLedger'
  | 'stateStore';

/** What never completes by itself. */
const LASTING: ReadonlySet<WorkflowType> = new Set([
  'coordinatorElection',
  'lockManager',
  'room',
  'chatLedger',
  'stateStore',
]);

export interface ReceiveArgs {
  readonly reader?: string;
  readonly agents: readonly string[];
  readonly after: number;
  readonly wait_seconds?: number;
  readonly limit?: number;
}

export interface WireOptions {
  readonly taskQueue?: string;
  readonly config?: { readonly [key: string]: unknown };
  /** Default: the server's (10 s). Shorter where workers are killed, so that the server gives their tasks away sooner. */
  readonly workflowTaskTimeout?: Duration;
}

let issued = 0;

/** An envelope with a new id. */
export function say(type: string, from: string, fields: { readonly [field: string]: unknown } = {}): Envelope {
  issued += 1;
  return { type, id: `m-${issued}`, from, ts: new Date().toISOString(), ...fields };
}

/** One workflow as an agent reaches it: by its id, with the four handlers of the contract. */
export class Wire {
  readonly workflowId: string;
  readonly #client: Client;
  readonly #type: WorkflowType;
  readonly #start: object;
  readonly #options: WireOptions;

  constructor(client: Client, type: WorkflowType, workflowId: string, room: string, options: WireOptions = {}) {
    this.workflowId = workflowId;
    this.#client = client;
    this.#type = type;
    this.#options = options;
    this.#start = { room, ...(options.config ? { config: options.config } : {}) };
  }

  static task(client: Client, room: string, task: string, options?: WireOptions): Wire {
    return new Wire(client, 'taskLease', `synod:${room}:task:${task}`, room, options);
  }

  static coordinator(client: Client, room: string, role = 'main', options?: WireOptions): Wire {
    return new Wire(client, 'coordinatorElection', `synod:${room}:coordinator:${role}`, room, options);
  }

  static proposal(client: Client, room: string, proposal: string, options?: WireOptions): Wire {
    return new Wire(client, 'quorumProposal', `synod:${room}:proposal:${proposal}`, room, options);
  }

  static barrier(client: Client, room: string, phase: string, options?: WireOptions): Wire {
    return new Wire(client, 'barrier', `synod:${room}:barrier:${phase}`, room, options);
  }

  static locks(client: Client, room: string, options?: WireOptions): Wire {
    return new Wire(client, 'lockManager', `synod:${room}:locks`, room, options);
  }

  static state(client: Client, room: string, namespace: string, options?: WireOptions): Wire {
    return new Wire(client, 'stateStore', `synod:${room}:state:${namespace}`, room, options);
  }

  static room(client: Client, room: string, options?: WireOptions): Wire {
    return new Wire(client, 'room', `synod:${room}:room`, room, options);
  }

  static ledger(client: Client, room: string, chat: string, options?: WireOptions): Wire {
    return new Wire(
      client,
      'chatLedger',
      `synod:${room}:bridge:${encodeURIComponent(chat).replaceAll('!', '%21')}`,
      room,
      options,
    );
  }

  get handle(): WorkflowHandle {
    return this.#client.workflow.getHandle(this.workflowId);
  }

  #startOptions(): WorkflowStartOptions & { workflowIdConflictPolicy: 'USE_EXISTING' } {
    const { taskQueue = 'synod', workflowTaskTimeout } = this.#options;
    return {
      workflowId: this.workflowId,
      taskQueue,
      args: [this.#start],
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: LASTING.has(this.#type) ? 'ALLOW_DUPLICATE' : 'ALLOW_DUPLICATE_FAILED_ONLY',
      ...(workflowTaskTimeout === undefined ? {} : { workflowTaskTimeout }),
    };
  }

  /** The update `request` with whatever argument, starting the workflow where it does not run. */
  async requestRaw(argument: unknown): Promise<unknown> {
    const startWorkflowOperation = new WithStartWorkflowOperation(this.#type, this.#startOptions());
    return await this.#client.workflow.executeUpdateWithStart('request', { args: [argument], startWorkflowOperation });
  }

  async request(...envelopes: readonly unknown[]): Promise<Envelope[][]> {
    return replies.parse(await this.requestRaw(envelopes));
  }

  /** The replies to one message. */
  async ask(message: unknown): Promise<Envelope[]> {
    return (await this.request(message))[0] ?? [];
  }

  /** The signal `envelope`, starting the workflow where it does not run. */
  async signal(argument: unknown): Promise<void> {
    await this.#client.workflow.signalWithStart(this.#type, {
      ...this.#startOptions(),
      signal: 'envelope',
      signalArgs: [argument],
    });
  }

  async receiveRaw(argument: unknown): Promise<unknown> {
    return await this.handle.executeUpdate('receive', { args: [argument] });
  }

  async receive(args: ReceiveArgs): Promise<Received> {
    return received.parse(await this.receiveRaw({ wait_seconds: 0, limit: 200, ...args }));
  }

  /** Reads on until an event satisfies `wanted`, and returns it. */
  async until(
    wanted: (envelope: Envelope) => boolean,
    agents: readonly string[] = ['*'],
    after = 0,
  ): Promise<Envelope> {
    for (let next = after; ;) {
      const page = await this.receive({ agents, after: next, wait_seconds: 20 });
      const found = page.events.find((event) => wanted(event.envelope));
      if (found) return found.envelope;
      next = page.next;
    }
  }

  /** The whole log that is kept. */
  async log(): Promise<Received['events']> {
    const events: Received['events'] = [];
    for (let after = 0; ;) {
      const page = await this.receive({ agents: ['*'], after });
      events.push(...page.events);
      if (page.next === after) return events;
      after = page.next;
    }
  }

  async view(query?: unknown): Promise<Record<string, unknown>> {
    return view.parse(await this.handle.query('view', ...(query === undefined ? [] : [query])));
  }

  async result(): Promise<Result> {
    return result.parse(await this.handle.result());
  }
}

/** The code of a failed update: the type of its ApplicationFailure, wherever the SDK has put it. */
export function failureOf(error: unknown): { type: string; message: string } {
  for (let e: unknown = error; e instanceof Error; e = e.cause) {
    if ('type' in e && typeof e.type === 'string') return { type: e.type, message: e.message };
  }
  return { type: error instanceof Error ? error.constructor.name : 'unknown', message: String(error) };
}

/** What an update that must fail failed with. */
export async function failing(work: Promise<unknown>): Promise<{ type: string; message: string }> {
  const answer = await work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('value' in answer) throw new Error(`it did not fail: ${JSON.stringify(answer.value)?.slice(0, 300)}`);
  return failureOf(answer.error);
}

/** FAILED_PRECONDITION, ABORTED, RESOURCE_EXHAUSTED, UNAVAILABLE, and NOT_FOUND of a run that hands over. */
const AGAIN: readonly unknown[] = [9, 10, 8, 14, 5];

function maySendAgain(error: unknown): boolean {
  for (let e: unknown = error; e instanceof Error; e = e.cause) {
    if ('type' in e && (e.type === 'draining' || e.type === 'AcceptedUpdateCompletedWorkflow')) return true;
    if ('code' in e && AGAIN.includes(e.code)) return true;
  }
  return false;
}

/** How long a busy machine may take for what passes, in milliseconds: as long as a test, and no count of attempts. */
const PATIENCE_MS = 60_000;

/** Sends the same again on what the contract says is passing, with jitter. */
export async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (const until = Date.now() + PATIENCE_MS; ;) {
    try {
      return await work();
    } catch (error) {
      if (!maySendAgain(error) || Date.now() >= until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 45));
    }
  }
}
