import { isFor, type LogEvent } from '../../envelope/calls.ts';
import type { Base, Envelope } from '../../envelope/envelope.ts';
import type { Json } from '../../envelope/fields.ts';
import { lockManagerId } from '../../envelope/shards.ts';
import { Host } from '../../host/host.ts';
import { lockManager } from '../../protocols/lock/protocol.ts';
import type { Listener } from '../connection/reader.ts';
import type { LockConnection } from './connection.ts';
import { lock, type Lock, type LockOptions } from './lock.ts';

/** How long a message takes, in milliseconds. */
export const WAY_MS = 5;

/** The lock manager of the room `lab`, in this process, and a connection to it for each process of agents. */
export class LocalManager {
  readonly log: LogEvent[] = [];
  readonly #host = new Host(lockManager, {
    workflowId: lockManagerId('lab'),
    room: 'lab',
    config: { rollback_seconds: 0 },
    now: 0,
  });
  readonly #onChange = new Set<() => void>();

  constructor() {
    setInterval(() => this.#changed(() => this.#host.tick(performance.now())), WAY_MS);
  }

  request(message: Base): Envelope[] {
    return this.#changed(() => this.#host.request([message], performance.now()).flat());
  }

  view(): { [field: string]: Json } {
    return this.#host.view(undefined, performance.now());
  }

  onChange(listener: () => void): void {
    this.#onChange.add(listener);
  }

  #changed<T>(change: () => T): T {
    const result = change();
    const args = { agents: ['*'], after: this.log.length, wait_seconds: 0, limit: 200 };
    this.#host.receive(args, performance.now(), ({ events }) => this.log.push(...events));
    for (const listener of this.#onChange) listener();
    return result;
  }
}

/** A process of agents. While it is cut off, what it sends waits, and what comes for it waits as well. */
export class LocalConnection implements LockConnection {
  readonly sent: Base[] = [];
  readonly #manager: LocalManager;
  readonly #listeners = new Map<Listener, number>();
  readonly #leaving = new AbortController();
  #healed: Promise<void> | undefined;
  #heal: () => void = () => undefined;
  /** Answers in the place of the manager, where it does. */
  answer: (message: Base) => Envelope[] | undefined = () => undefined;

  constructor(manager: LocalManager) {
    this.#manager = manager;
    manager.onChange(() => this.#deliver());
  }

  get leaving(): AbortSignal {
    return this.#leaving.signal;
  }

  disconnect(): void {
    this.#leaving.abort();
  }

  readonly beforeClosing = async <T>(task: Promise<T>): Promise<T> => await task;
  readonly view = async () => undefined;

  readonly send = async (_target: object, message: Base, signal?: AbortSignal): Promise<Envelope[]> => {
    await this.#healed;
    await new Promise((resolve) => setTimeout(resolve, WAY_MS));
    signal?.throwIfAborted();
    this.sent.push(message);
    const answers = this.answer(message) ?? this.#manager.request(message);
    await new Promise((resolve) => setTimeout(resolve, WAY_MS));
    await this.#healed;
    return answers;
  };

  readonly readerOf = () => ({
    listen: (listener: Listener, after = -1) => {
      this.#listeners.set(listener, after < 0 ? this.#manager.log.length : after);
      queueMicrotask(() => this.#deliver());
      return () => void this.#listeners.delete(listener);
    },
  });

  cut(): void {
    this.#healed = new Promise((resolve) => (this.#heal = resolve));
  }

  /** @param events so many of the events that have waited come at first, as in a page that was sent long ago. */
  heal(events: number = Number.POSITIVE_INFINITY): void {
    this.#healed = undefined;
    this.#deliver(events);
    this.#heal();
  }

  #deliver(count: number = Number.POSITIVE_INFINITY): void {
    if (this.#healed) return;
    const { log } = this.#manager;
    for (const [listener, after] of this.#listeners) {
      const [agents, types] = [new Set([listener.agent]), listener.types && new Set(listener.types)];
      const wanted = log.filter(({ seq, envelope }) => seq > after && isFor(envelope, agents, types));
      const page = wanted.slice(0, count);
      this.#listeners.set(listener, page.length < wanted.length ? (page.at(-1)?.seq ?? after) : log.length);
      for (const event of page) listener.onEvent(event);
    }
  }
}

/** A call of `room.lock`: how its body is getting on, and what became of it. */
export function locking(
  connection: LockConnection,
  agent: string,
  resources: readonly string[],
  options: Partial<LockOptions> = {},
) {
  const runs: Lock[] = [];
  let finish: () => void = () => undefined;
  const body = async (held: Lock) => {
    runs.push(held);
    await new Promise<void>((resolve) => (finish = resolve));
    return 'done';
  };
  const all: LockOptions = { type: 'exclusive', ...options };
  const outcome = lock(connection, agent, 'lab', resources, all, body).catch((error: unknown) => error);
  return { runs, outcome, finish: () => finish() };
}
