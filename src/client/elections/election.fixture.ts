import type { LogEvent } from '../../envelope/calls.ts';
import type { Base, Envelope } from '../../envelope/envelope.ts';
import { Host } from '../../host/host.ts';
import { coordinatorElection } from '../../protocols/election/protocol.ts';
import { coordinate, type ElectionConnection, type Leadership } from './coordinate.ts';
import type { Listener } from '../connection/reader.ts';

export const HEARTBEAT_SECONDS = 10;
/** How long a message is under way. */
export const WAY_MS = 5;

/** An election in this process; messages of an agent that is cut off wait, and it receives nothing. */
export class LocalConnection implements ElectionConnection {
  readonly sent: Base[] = [];
  readonly log: LogEvent[] = [];
  readonly #host = new Host(coordinatorElection, {
    workflowId: 'synod:lab:coordinator:main',
    room: 'lab',
    config: {},
    now: 0,
  });
  readonly #listeners = new Set<Listener>();
  readonly #cutOff = new Map<string, (() => void)[]>();

  constructor() {
    setInterval(() => this.#changed(() => this.#host.tick(performance.now())), WAY_MS);
  }

  readonly send = async (_target: object, message: Base): Promise<Envelope[]> => {
    const waiting = this.#cutOff.get(message.from);
    if (waiting) await new Promise<void>((resolve) => waiting.push(resolve));
    await new Promise((resolve) => setTimeout(resolve, WAY_MS));
    this.sent.push(message);
    return this.#changed(() => this.#host.request([message], performance.now()).flat());
  };

  readonly readerOf = () => ({
    listen: (listener: Listener) => {
      this.#listeners.add(listener);
      queueMicrotask(listener.onGap);
      return () => void this.#listeners.delete(listener);
    },
  });

  cut(agent: string): void {
    this.#cutOff.set(agent, []);
  }

  heal(agent: string): void {
    const waiting = this.#cutOff.get(agent) ?? [];
    this.#cutOff.delete(agent);
    for (const resolve of waiting) resolve();
  }

  view(field: string): unknown {
    return this.#host.view(undefined, performance.now())[field];
  }

  /** Delivers what has been logged to its listeners. */
  #changed<T>(change: () => T): T {
    const result = change();
    const args = { agents: ['*'], after: this.log.length, wait_seconds: 0, limit: 200 };
    this.#host.receive(args, performance.now(), ({ events }) => {
      this.log.push(...events);
      for (const event of events)
        for (const listener of this.#listeners) if (!this.#cutOff.has(listener.agent)) listener.onEvent(event);
    });
    return result;
  }
}

/** What a candidate was given, epoch by epoch; each `run` lasts until its signal fires or `finish` is called. */
export function candidate(connection: LocalConnection, agent: string, heartbeatSeconds: number = HEARTBEAT_SECONDS) {
  const led: Leadership[] = [];
  const stop = new AbortController();
  let finish: (error?: Error) => void = () => undefined;
  const run = async (leadership: Leadership) => {
    led.push(leadership);
    await new Promise<void>((resolve, reject) => {
      finish = (error) => (error ? reject(error) : resolve());
      leadership.signal.addEventListener('abort', () => resolve(), { once: true });
    });
  };
  const options = { heartbeatSeconds, signal: stop.signal };
  const ended = coordinate(connection, agent, 'lab', 'main', run, options);
  const failed = ended.then(
    () => undefined,
    (error: unknown) => error,
  );
  return { led, ended, failed, stop, finish: (error?: Error) => finish(error) };
}
