import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { Client } from '@temporalio/client';
import type { Target } from '../../envelope/address.ts';
import type { Base, Envelope } from '../../envelope/envelope.ts';
import { EVERYONE, type LogEvent, type Received } from '../../envelope/calls.ts';
import { MAX_RECEIVE_EVENTS } from '../../envelope/limits.ts';
import type { Json } from '../../envelope/fields.ts';
import { isolated } from '../isolated.ts';
import { Channel, type OnRetry } from './channel.ts';
import { classify } from '../transport/faults.ts';
import { HubTransport, type HubAddress } from '../transport/hubTransport.ts';
import { Reader } from './reader.ts';
import { TemporalTransport } from '../transport/temporalTransport.ts';
import { Shared } from './sharedCall.ts';
import { backoff, linked, pause, unlessAborted, until } from '../timing/timing.ts';
import type { Transport } from '../transport/transport.ts';

/** What is given back at a disconnect is tried for so long, in milliseconds. */
const LEAVING_MS = 2_000;
/** A call that has been repeated so often, for some five seconds, is worth a warning. */
const WARNING_ATTEMPT = 11;

type PublicState = { [field: string]: Json };

/** What the agents of one process share for one Temporal client and task queue: one channel and one reader a workflow. */
export class SharedConnection {
  static readonly #connections = new WeakMap<Client, Map<string, SharedConnection>>();

  static readonly #addresses = new WeakMap<Client, HubAddress>();

  readonly #transport: Transport;
  /** This process, as a reader. */
  readonly reader = `reader-${randomUUID()}`;
  readonly #channels = new Map<string, Channel>();
  readonly #readers = new Map<string, readonly Reader[]>();
  #named = 0;
  readonly #looks = new Map<string, Shared<PublicState | undefined>>();
  readonly #observers = new Set<OnRetry>();
  readonly #closing = new AbortController();
  readonly #leaving = new AbortController();
  /** What a disconnect waits for. */
  readonly #tasks = new Set<Promise<unknown>>();

  private constructor(client: Client, taskQueue: string) {
    // Each call under way listens for the end.
    setMaxListeners(0, this.#closing.signal);
    setMaxListeners(0, this.#leaving.signal);
    const address = SharedConnection.#addresses.get(client);
    this.#transport = address
      ? new HubTransport(address, this.#closing.signal)
      : new TemporalTransport(client, taskQueue);
  }

  static of(client: Client, taskQueue: string): SharedConnection {
    const queues = SharedConnection.#connections.get(client) ?? new Map<string, SharedConnection>();
    SharedConnection.#connections.set(client, queues);
    const connection = queues.get(taskQueue) ?? new SharedConnection(client, taskQueue);
    queues.set(taskQueue, connection);
    return connection;
  }

  /** From now on the agents of a client work through a hub; before any of them has begun. */
  static through(client: Client, address: HubAddress): void {
    SharedConnection.#addresses.set(client, address);
  }

  /** Calls back whenever a call has to be repeated. */
  observe(onRetry: OnRetry): void {
    this.#observers.add(onRetry);
  }

  /**
   * Sends a message until it is answered.
   * @param signal gives it up: rejects with its reason. The message may have arrived.
   */
  async send(target: Target, message: Base, signal?: AbortSignal): Promise<Envelope[]> {
    const { workflowId } = target;
    const answers = await this.#channelTo(target).send(message, signal);
    // A reader that waits for a workflow to be there need wait no longer.
    for (const reader of this.#readers.get(workflowId) ?? []) reader.hurry();
    return answers;
  }

  #channelTo(target: Target): Channel {
    const { workflowId } = target;
    const known = this.#channels.get(workflowId);
    if (known) return known;
    const channel = new Channel(
      this.#transport,
      target,
      this.#closing.signal,
      (about) => this.#retried(about),
      // A process meets many tasks; a channel is only kept while it has messages to send.
      () => this.#channels.delete(workflowId),
    );
    this.#channels.set(workflowId, channel);
    return channel;
  }

  /** Who listens to a workflow for this process: one reader, and more where it has more listeners than one may read for. */
  readerOf(workflowId: string): Reader {
    const known = this.#readers.get(workflowId) ?? [];
    const free = known.find((reader) => reader.hasRoom);
    if (free) return free;
    const name = known.length === 0 ? this.reader : `${this.reader}:${(this.#named += 1)}`;
    const reader = new Reader(this.#transport, workflowId, name, this.#closing.signal, () => {
      const left = (this.#readers.get(workflowId) ?? []).filter((other) => other !== reader);
      if (left.length > 0) this.#readers.set(workflowId, left);
      else this.#readers.delete(workflowId);
    });
    this.#readers.set(workflowId, [...known, reader]);
    return reader;
  }

  /**
   * A workflow's public state, read again until it can be; undefined where there is no such workflow. A thousand agents
   * who ask for the whole of it at once share one query: the next one that begins, so that none gets a state from before it asked.
   */
  async view(
    workflowId: string,
    query?: { readonly [field: string]: Json },
    signal?: AbortSignal,
  ): Promise<PublicState | undefined> {
    if (query) return await this.#look(workflowId, query, signal);
    const shared = this.#looks.get(workflowId) ?? new Shared(async () => await this.#look(workflowId));
    this.#looks.set(workflowId, shared);
    try {
      return await shared.next(signal);
    } finally {
      if (shared.idle) this.#looks.delete(workflowId);
    }
  }

  async #look(
    workflowId: string,
    query?: { readonly [field: string]: Json },
    signal?: AbortSignal,
  ): Promise<PublicState | undefined> {
    return await this.#repeated(workflowId, signal, async () => await this.#transport.view(workflowId, query));
  }

  /** Where a workflow's log ends, and Temporal's time, asked again until it is answered; undefined where no such workflow runs. */
  async end(workflowId: string, signal: AbortSignal): Promise<{ head: number; now: string } | undefined> {
    const page = await this.#page(workflowId, { agents: [], after: -1, limit: 1 }, signal);
    return page && { head: page.next, now: page.now };
  }

  /** All that a workflow's log keeps, and Temporal's time then; undefined where no such workflow runs. */
  async log(
    workflowId: string,
    signal?: AbortSignal,
  ): Promise<{ events: readonly LogEvent[]; now: string } | undefined> {
    const events: LogEvent[] = [];
    for (let after = 0; ;) {
      const page = await this.#page(workflowId, { agents: [EVERYONE], after, limit: MAX_RECEIVE_EVENTS }, signal);
      if (!page) return undefined;
      events.push(...page.events);
      if (page.events.length < MAX_RECEIVE_EVENTS) return { events, now: page.now };
      after = page.next;
    }
  }

  /** What a log has by now, without a wait. */
  async #page(
    workflowId: string,
    args: { agents: string[]; after: number; limit: number },
    signal: AbortSignal | undefined,
  ): Promise<Received | undefined> {
    const ends = signal ?? this.#closing.signal;
    return await this.#repeated(workflowId, ends, async () => {
      try {
        return await this.#transport.receive(workflowId, { ...args, wait_seconds: 0 }, ends);
      } catch (error) {
        if (classify(error).kind === 'gone') return undefined;
        throw error;
      }
    });
  }

  async #repeated<T>(workflowId: string, signal: AbortSignal | undefined, call: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await unlessAborted(call(), signal);
      } catch (error) {
        const fault = classify(error);
        if (fault.kind === 'fatal' || signal?.aborted || this.#closing.signal.aborted) throw fault.error;
        this.#retried({ workflowId, attempt, error });
        await pause(backoff(attempt, fault.kind === 'retry' && fault.contended), signal);
      }
    }
  }

  /** Fires when the client is being disconnected: what waits is to be given up now, and can still say so. */
  get leaving(): AbortSignal {
    return this.#leaving.signal;
  }

  /** A disconnect waits for it, two seconds at most. */
  async beforeClosing<T>(task: Promise<T>): Promise<T> {
    this.#tasks.add(task);
    try {
      return await task;
    } finally {
      this.#tasks.delete(task);
    }
  }

  async #close(): Promise<void> {
    this.#leaving.abort();
    const late = linked([], LEAVING_MS);
    await until(Promise.allSettled(this.#tasks), late.signal);
    late.release();
    this.#closing.abort();
  }

  /** Ends what the agents of a client still try, and closes its connection. */
  static async disconnect(client: Client): Promise<void> {
    const connections = [...(SharedConnection.#connections.get(client)?.values() ?? [])];
    await Promise.all(connections.map(async (connection) => await connection.#close()));
    SharedConnection.#connections.delete(client);
    await client.connection.close();
  }

  #retried(about: Parameters<OnRetry>[0]): void {
    const fault = classify(about.error);
    if (fault.kind === 'retry' && fault.contended)
      for (const reader of this.#readers.get(about.workflowId) ?? []) reader.contend();
    if (about.attempt === WARNING_ATTEMPT) {
      process.emitWarning(
        `synod: still trying to reach ${about.workflowId}: ${String(about.error)}; is the server up, and a worker?`,
      );
    }
    for (const observer of this.#observers) isolated('onRetry', observer)(about);
  }
}
