import { retried, type Envelope, type Wire } from './wire.ts';

/** Reads a workflow's log as it grows: of a long one only the latest entries are kept. */
export class Follower {
  /** All that was logged, in order. */
  readonly events: Envelope[] = [];
  readonly #wire: Wire;
  readonly #watchers = new Set<() => void>();
  readonly #done: Promise<void>;
  #gap = false;
  #stopped = false;

  /**
   * @param wire of a workflow that runs.
   * @param after the number in the log from which on it reads.
   */
  constructor(wire: Wire, after = 0) {
    this.#wire = wire;
    this.#done = this.#follow(after);
    this.#done.catch(() => undefined);
  }

  /** Resolves once `enough` is true of what was logged. */
  async until(enough: (events: readonly Envelope[]) => boolean): Promise<void> {
    let look: () => void = () => undefined;
    const seen = new Promise<void>((resolve) => {
      look = () => (enough(this.events) ? resolve() : undefined);
    });
    this.#watchers.add(look);
    look();
    await Promise.race([seen, this.#done]);
    this.#watchers.delete(look);
    if (this.#gap) throw new Error('entries of the log were evicted before they were read');
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#done;
  }

  async #follow(from: number): Promise<void> {
    for (let after = from; !this.#stopped && !this.#gap;) {
      const page = await retried(() => this.#wire.receive({ agents: ['*'], after, wait_seconds: 1 }));
      this.#gap = page.truncated;
      this.events.push(...page.events.map(({ envelope }) => envelope));
      after = page.next;
      for (const look of this.#watchers) look();
    }
  }
}
