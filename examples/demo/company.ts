import { fired } from './fates.ts';

/** What is known of agents that tell nobody but a chat what they do: what each of them has begun, in order. */
export class Company {
  readonly #agents: readonly string[];
  readonly #beginnings: { readonly agent: string; readonly taskId: string }[] = [];
  /** They choose nothing any more, or not before they are told to go on. */
  readonly #quiet = new Set<string>();
  #news = new AbortController();

  constructor(agents: readonly string[]) {
    this.#agents = agents;
  }

  begins(agent: string, taskId: string): void {
    this.#beginnings.push({ agent, taskId });
    this.#tell();
  }

  /** An agent has ended, is gone, or has begun a task and is kept waiting. */
  rests(agent: string): void {
    this.#quiet.add(agent);
    this.#tell();
  }

  /** It goes on. */
  stirs(agent: string): void {
    this.#quiet.delete(agent);
  }

  /**
   * Whether nobody else does the task that an agent has begun last. Another may have chosen it before this one said so:
   * that is known once each of the others has begun its next.
   */
  async alone(agent: string, taskId: string, signal: AbortSignal): Promise<boolean> {
    const since = this.#beginnings.length;
    const others = this.#agents.filter((id) => id !== agent);
    const shared = () => this.#beginnings.some((begun) => begun.agent !== agent && begun.taskId === taskId);
    const known = (id: string) =>
      this.#quiet.has(id) || this.#beginnings.slice(since).some((begun) => begun.agent === id);
    while (!shared() && !others.every(known)) {
      await fired(AbortSignal.any([signal, this.#news.signal]));
      if (signal.aborted) return false;
    }
    return !shared();
  }

  #tell(): void {
    this.#news.abort();
    this.#news = new AbortController();
  }
}
