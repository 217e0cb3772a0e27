import type { Agent, BoardRow } from '../../src/client/index.ts';
import { fired } from './outcomes.ts';

const ENDED = new Set(['task.completed', 'task.failed', 'task.cancelled']);

/** Which tasks of a room have ended, by its log and its board. */
export class Progress {
  readonly #agent: Agent;
  readonly #room: string;
  readonly #ended = new Set<string>();
  readonly #onEnded: (taskId: string) => void;
  readonly #stop: () => void;
  #changed = new AbortController();

  constructor(agent: Agent, room: string, onEnded: (taskId: string) => void = () => undefined) {
    this.#agent = agent;
    this.#room = room;
    this.#onEnded = onEnded;
    this.#stop = agent.listen(
      room,
      ({ envelope: { type, task_id: taskId } }) => {
        if (ENDED.has(type) && typeof taskId === 'string') this.#add(taskId);
      },
      // What the log has evicted is on the board.
      { onGap: () => void this.board().catch(() => undefined) },
    );
  }

  get ended(): number {
    return this.#ended.size;
  }

  /** Reads the board: every task that was announced. */
  async board(): Promise<readonly BoardRow[]> {
    const rows = await this.#agent.board(this.#room, { kind: 'task' });
    for (const { id, status } of rows) if (status !== 'open' && status !== 'held') this.#add(id);
    return rows;
  }

  /** Waits until so many have ended, or the signal fires. */
  async until(count: number, signal: AbortSignal): Promise<void> {
    while (this.#ended.size < count && !signal.aborted) await fired(AbortSignal.any([signal, this.#changed.signal]));
  }

  close(): void {
    this.#stop();
  }

  #add(taskId: string): void {
    if (this.#ended.has(taskId)) return;
    this.#ended.add(taskId);
    this.#onEnded(taskId);
    this.#changed.abort();
    this.#changed = new AbortController();
  }
}
