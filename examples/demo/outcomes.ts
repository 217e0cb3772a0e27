/** What happens to an agent that has just started a task and holds its lease. */
export type Outcome = 'go on' | 'kill' | 'stop';

/** At which of its tasks an agent gets its outcome at the latest; earlier where there are few. */
const LATEST_TASK = 3;

interface Planned {
  readonly outcome: Outcome;
  startsLeft: number;
  readonly cancelled: AbortController;
}

/**
 * Decides what happens to an agent at each task it starts. However fast the others are, an agent with a planned outcome
 * gets as many tasks as that takes: near the end of the work the others wait for it.
 */
export class PlannedOutcomes {
  #tasks: number;
  readonly #others: number;
  readonly #begun = new Set<string>();
  readonly #planned = new Map<string, Planned>();
  readonly #allHappened = new AbortController();

  /**
   * @param tasks how many there are to begin with.
   * @param few of how many tasks an agent must get one to reach its outcome.
   */
  constructor(planned: { readonly [agent: string]: Outcome }, agents: number, tasks: number, few: number = tasks) {
    this.#tasks = tasks;
    const startsLeft = Math.min(LATEST_TASK, Math.ceil(few / 8));
    for (const [agent, outcome] of Object.entries(planned))
      this.#planned.set(agent, { outcome, startsLeft, cancelled: new AbortController() });
    this.#others = agents - this.#planned.size;
  }

  /** There is more to do. */
  grow(tasks: number): void {
    this.#tasks += tasks;
  }

  /**
   * @param signal ends any waiting.
   * @param ready resolves to whether the planned outcome may happen now.
   */
  async at(
    agent: string,
    taskId: string,
    token: number,
    signal: AbortSignal,
    ready: (outcome: Outcome, signal: AbortSignal) => Promise<boolean> = () => Promise.resolve(true),
  ): Promise<Outcome> {
    this.#begun.add(taskId);
    const own = this.#planned.get(agent);
    if (!own) {
      const needed = [...this.#planned.values()].reduce((sum, { startsLeft }) => sum + startsLeft, 0);
      if (needed > 0 && this.#tasks - this.#begun.size < needed + this.#others)
        await fired(AbortSignal.any([signal, this.#allHappened.signal]));
      return 'go on';
    }
    // A task that was lost once is not lost again, so that two tasks are taken over and not one twice.
    if (token > 1 || (own.startsLeft -= 1) > 0) return 'go on';
    const happens = await ready(own.outcome, AbortSignal.any([signal, own.cancelled.signal]));
    if (!happens || own.cancelled.signal.aborted) {
      own.startsLeft = 1;
      return 'go on';
    }
    this.cancel(agent);
    return own.outcome;
  }

  /** Nothing more is planned for an agent: it has happened, or a key did it. */
  cancel(agent: string): void {
    this.#planned.get(agent)?.cancelled.abort();
    this.#planned.delete(agent);
    if (this.#planned.size === 0) this.#allHappened.abort();
  }
}

/** Resolves when the signal has fired. */
export async function fired(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
