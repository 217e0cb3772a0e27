import { fired } from './outcomes.ts';

/** Which task each agent has started, in order, where the agents write to nothing but a chat. */
export class AgentTracker {
  readonly #agents: readonly string[];
  readonly #starts: { readonly agent: string; readonly taskId: string }[] = [];
  /** They choose no task any more, or not before they are resumed. */
  readonly #paused = new Set<string>();
  #changed = new AbortController();

  constructor(agents: readonly string[]) {
    this.#agents = agents;
  }

  started(agent: string, taskId: string): void {
    this.#starts.push({ agent, taskId });
    this.#notify();
  }

  /** An agent has ended, or has started a task and is made to wait. */
  paused(agent: string): void {
    this.#paused.add(agent);
    this.#notify();
  }

  /** It continues. */
  resumed(agent: string): void {
    this.#paused.delete(agent);
  }

  /**
   * Whether nobody else does the task that an agent has started last. Another may have chosen it before this one wrote so:
   * that is known once each of the others has started its next.
   */
  async isAlone(agent: string, taskId: string, signal: AbortSignal): Promise<boolean> {
    const since = this.#starts.length;
    const others = this.#agents.filter((id) => id !== agent);
    const alsoStarted = () => this.#starts.some((start) => start.agent !== agent && start.taskId === taskId);
    const known = (id: string) => this.#paused.has(id) || this.#starts.slice(since).some((start) => start.agent === id);
    while (!alsoStarted() && !others.every(known)) {
      await fired(AbortSignal.any([signal, this.#changed.signal]));
      if (signal.aborted) return false;
    }
    return !alsoStarted();
  }

  #notify(): void {
    this.#changed.abort();
    this.#changed = new AbortController();
  }
}
