/** What happens to an agent that has just begun a task, holding its lease. */
export type Fate = 'go on' | 'kill' | 'stop';

/** At which of its tasks an agent meets its fate; earlier where there are few. */
const FATEFUL_TASK = 3;

/**
 * Decides what becomes of an agent at each beginning. However fast the others are, those whom something is to happen to
 * get as many tasks as that takes: near the end the others wait for it.
 */
export class Fates {
  readonly #tasks: number;
  readonly #others: number;
  readonly #begun = new Set<string>();
  readonly #ahead = new Map<string, { readonly fate: Fate; beginnings: number }>();
  readonly #allMet = new AbortController();

  constructor(fated: { readonly [agent: string]: Fate }, agents: number, tasks: number) {
    this.#tasks = tasks;
    const beginnings = Math.min(FATEFUL_TASK, Math.ceil(tasks / 8));
    for (const [agent, fate] of Object.entries(fated)) this.#ahead.set(agent, { fate, beginnings });
    this.#others = agents - this.#ahead.size;
  }

  /**
   * @param signal ends any waiting.
   * @param alone whether nobody else does the task: a task of two is not lost with one of them.
   */
  async at(
    agent: string,
    taskId: string,
    token: number,
    signal: AbortSignal,
    alone: () => Promise<boolean> = () => Promise.resolve(true),
  ): Promise<Fate> {
    this.#begun.add(taskId);
    const own = this.#ahead.get(agent);
    if (!own) {
      const needed = [...this.#ahead.values()].reduce((sum, { beginnings }) => sum + beginnings, 0);
      if (needed > 0 && this.#tasks - this.#begun.size < needed + this.#others)
        await fired(AbortSignal.any([signal, this.#allMet.signal]));
      return 'go on';
    }
    // A task that was lost once is not lost again, so that two tasks are taken over and not one twice.
    if (token > 1 || (own.beginnings -= 1) > 0) return 'go on';
    if (own.fate === 'kill' && !(await alone())) {
      own.beginnings = 1;
      return 'go on';
    }
    this.spare(agent);
    return own.fate;
  }

  /** Nothing more is to happen to an agent: it has, or somebody else saw to it. */
  spare(agent: string): void {
    this.#ahead.delete(agent);
    if (this.#ahead.size === 0) this.#allMet.abort();
  }
}

/** Resolves when the signal has fired. */
export async function fired(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
