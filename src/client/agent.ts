import type { Client } from '@temporalio/client';
import { DEFAULT_TASK_QUEUE } from '../envelope/address.ts';
import type { LogEvent } from '../envelope/calls.ts';
import type { Envelope } from '../envelope/envelope.ts';
import { roomMessages, type BoardRow } from '../envelope/room.ts';
import { taskMessages } from '../envelope/task.ts';
import { SynodError } from '../envelope/refusal.ts';
import { yieldHint, type YieldHint } from './tasks/breakRoom.ts';
import type { OnRetry } from './connection/channel.ts';
import { accepted } from './messages/answers.ts';
import { boardRows, type BoardQuery } from './messages/board.ts';
import { checked, compose, keyFor } from './messages/compose.ts';
import { checkWorkOptions, type Handler, type WorkOptions } from './tasks/handler.ts';
import { SharedConnection } from './connection/sharedConnection.ts';
import { known, needed, type Keys } from '../envelope/options.ts';
import { lingering, sendOpening } from './messages/opening.ts';
import { outcomeOf, taskEnding } from './messages/outcome.ts';
import { Room } from './room.ts';
import { roomTarget, taskTarget } from '../envelope/targets.ts';
import { announcementOf, TASK_KEYS, type TaskOptions } from '../envelope/taskOptions.ts';
import { work } from './tasks/work.ts';

/** Options of an {@link Agent}. */
export interface AgentOptions {
  /** Where Synod's workflows run; default `synod`. */
  readonly taskQueue?: string;
  /** Called for each call that has to be repeated: a lost connection, a workflow that hands over. Such calls never fail. */
  readonly onRetry?: OnRetry;
}

/** Who an agent says that it is. */
export interface Introduction {
  /** What it is, such as `worker`. */
  readonly kind: string;
  /** What it is there for. */
  readonly purpose: string;
  /** What it can do. */
  readonly capabilities?: readonly string[];
}

/** Options of `agent.listen`. */
export interface ListenOptions {
  /** The last number already read; 0 from the start, -1 (default) from now on. */
  readonly after?: number;
  /** Called where entries may have been missed, and when listening from now on begins. */
  readonly onGap?: () => void;
}

/** A task that was announced. */
export interface Announced {
  readonly taskId: string;
  readonly replies: readonly Envelope[];
  /** Resolves to the task's last envelope: `task.completed`, `task.failed` or `task.cancelled`. */
  readonly outcome: (signal?: AbortSignal) => Promise<Envelope>;
}

const AGENT_KEYS: Keys<AgentOptions> = { taskQueue: true, onRetry: true };
const INTRODUCTION_KEYS: Keys<Introduction> = { kind: true, purpose: true, capabilities: true };
const LISTEN_KEYS: Keys<ListenOptions> = { after: true, onGap: true };
const BOARD_KEYS: Keys<BoardQuery> = { kind: true, status: true };

/**
 * One agent: it announces and does tasks, and posts in rooms. All agents of a process that share a Temporal client
 * share one `receive` and one `request` in flight a workflow.
 */
export class Agent {
  /** Its id, compared byte for byte. */
  readonly id: string;
  readonly #connection: SharedConnection;

  /** @throws SynodError `invalid_envelope` where the id is malformed. */
  constructor(client: Client, id: string, options: AgentOptions = {}) {
    known('options', options, AGENT_KEYS);
    this.id = checked('agent', id);
    this.#connection = SharedConnection.of(client, options.taskQueue ?? DEFAULT_TASK_QUEUE);
    if (options.onRetry) this.#connection.observe(options.onRetry);
  }

  /**
   * Announces a task to a room.
   * @throws SynodError `invalid_envelope` naming the field; `idempotency_conflict` where the task was announced differently.
   */
  async announce(room: string, task: TaskOptions): Promise<Announced> {
    known('task', task, TASK_KEYS);
    const { lingerSeconds, idempotencyKey = keyFor('announce', task.taskId) } = task;
    const message = compose(taskMessages['task.announce'], this.id, announcementOf({ ...task, idempotencyKey }));
    const target = taskTarget(checked('room', room), message.task_id, lingering(lingerSeconds));
    const replies = accepted(await sendOpening(this.#connection, target, message), `task ${message.task_id}`);
    return {
      taskId: message.task_id,
      replies,
      outcome: (signal) => outcomeOf(this.#connection, this.id, taskEnding(room, message.task_id), signal),
    };
  }

  /** Ends a task that this agent announced (or any, as `operator:…`). */
  async cancel(room: string, taskId: string, reason?: string): Promise<void> {
    const message = compose(taskMessages['task.cancel'], this.id, { type: 'task.cancel', task_id: taskId, reason });
    accepted(await this.#connection.send(taskTarget(checked('room', room), taskId), message), `task ${taskId}`);
  }

  /** A room as this agent sees it: elections, decisions, barriers and locks are there. */
  room(name: string): Room {
    return new Room(this.#connection, this.id, checked('room', name));
  }

  /** Introduces this agent to a room. */
  async join(room: string, introduction: Introduction): Promise<void> {
    known('introduction', introduction, INTRODUCTION_KEYS);
    const message = compose(roomMessages['room.join'], this.id, { type: 'room.join', ...introduction });
    accepted(await this.#connection.send(roomTarget(checked('room', room)), message));
  }

  /** Says something in a room: at most 4,000 characters. */
  async post(room: string, text: string): Promise<void> {
    const message = compose(roomMessages['room.post'], this.id, { type: 'room.post', text });
    accepted(await this.#connection.send(roomTarget(checked('room', room)), message));
  }

  /**
   * Calls back with each entry of a room's log that is for this agent or for all, in order, each once, over lost connections.
   * @returns a function that ends it.
   */
  listen(room: string, onEvent: (event: LogEvent) => void, options: ListenOptions = {}): () => void {
    needed({ onEvent });
    known('options', options, LISTEN_KEYS);
    const reader = this.#connection.readerOf(roomTarget(checked('room', room)).workflowId);
    return reader.listen({ agent: this.id, onEvent, onGap: options.onGap ?? (() => undefined) }, options.after);
  }

  /** The tasks of a room and how they stand, the most urgent first, then the oldest; ended ones stay for an hour. Ask for status `open` for what is open. */
  async board(room: string, query: BoardQuery = {}): Promise<BoardRow[]> {
    known('query', query, BOARD_KEYS);
    return await boardRows(this.#connection, checked('room', room), query);
  }

  /**
   * Whether to leave a task to somebody else: another has named it in the room, claimed it or got it, in the last `withinSeconds`
   * by Temporal's time and since it was last announced. A hint for work that is no task here: two who ask at the same
   * time both get `yield: false`. Where it matters, claim the task: of all who claim, one gets the ack.
   */
  async shouldYield(room: string, taskId: string, withinSeconds: number): Promise<YieldHint> {
    if (!(withinSeconds > 0)) throw new SynodError('invalid_envelope', 'withinSeconds must be a number of seconds > 0');
    const log = await this.#connection.log(roomTarget(checked('room', room)).workflowId);
    if (!log) return { yield: false };
    const about = { agent: this.id, taskId, now: Date.parse(log.now), withinMs: withinSeconds * 1000 };
    return yieldHint(log.events, about);
  }

  /**
   * Does a room's tasks, one after the other (or `concurrency` at once), until `options.signal` fires; then what is
   * being done is handed back. A task is never begun before its ack, its lease is renewed beside the work, and it is
   * completed or failed once. While an operator has paused the room nothing is claimed; what is being done goes on.
   */
  async work(room: string, handler: Handler, options: WorkOptions = {}): Promise<void> {
    needed({ handler });
    checkWorkOptions(options);
    await work(this.#connection, this.id, checked('room', room), handler, options);
  }
}
