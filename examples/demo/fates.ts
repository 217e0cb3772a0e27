/** What happens to an agent that has just begun a task, holding its lease. */
export type Fate = 'go on' | 'kill' | 'stop';

/** At which of its tasks an agent meets its fate, at the latest; earlier where there are few. */
const FATEFUL_TASK = 3;

interface Ahead {
  readonly fate: Fate;
  beginnings: number;
  readonly spared: AbortController;
}

/**
 * Decides what becomes of an agent at each beginning. However fast the others are, those whom something is to happen to
 * get as many tasks as that takes: near the end of what there is to do the others wait for it.
 */
export class Fates {
  #tasks: number;
  readonly #others: number;
  readonly #begun = new Set<string>();
  readonly #ahead = new Map<string, Ahead>();
  readonly #allMet = new AbortController();

  /**
   * @param tasks how many there are to begin with.
   * @param few of how many an agent must get one to meet its fate.
   */
  constructor(fated: { readonly [agent: string]: Fate }, agents: number, tasks: number, few: number = tasks) {
    this.#tasks = tasks;
    const beginnings = Math.min(FATEFUL_TASK, Math.ceil(few / 8));
    for (const [agent, fate] of Object.entries(fated))
      this.#ahead.set(agent, { fate, beginnings, spared: new AbortController() });
    this.#others = agents - this.#ahead.size;
  }

  /** There is more to do. */
  grow(tasks: number): void {
    this.#tasks += tasks;
  }

  /**
   * @param signal ends any waiting.
   * @param ripe whether the time has come for what is ahead of it; may take its time to say so.
   */
  async at(
    agent: string,
    taskId: string,
    token: number,
    signal: AbortSignal,
    ripe: (fate: Fate, signal: AbortSignal) => Promise<boolean> = () => Promise.resolve(true),
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
    const come = await ripe(own.fate, AbortSignal.any([signal, own.spared.signal]));
    if (!come || own.spared.signal.aborted) {
      own.beginnings = 1;
      return 'go on';
    }
    this.spare(agent);
    return own.fate;
  }

  /** Nothing more is to happen to an agent: it has, or somebody else saw to it. */
  spare(agent: string): void {
    this.#ahead.get(agent)?.spared.abort();
    this.#ahead.delete(agent);
    if (this.#ahead.size === 0) this.#allMet.abort();
  }
}

/** Resolves when the signal has fired. */
export async function fired(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
