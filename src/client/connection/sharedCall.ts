import { unlessAborted } from '../timing/timing.ts';

/** A call that all who ask for it meanwhile share: one is under way, and one more waits for whoever asked after it began. */
export class Shared<T> {
  readonly #call: () => Promise<T>;
  #running: Promise<unknown> | undefined;
  #waiting: Promise<T> | undefined;

  constructor(call: () => Promise<T>) {
    this.#call = call;
  }

  get idle(): boolean {
    return !this.#running && !this.#waiting;
  }

  /** The outcome of the next call that begins. A signal ends the waiting, not the call. */
  async next(signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    this.#waiting ??= this.#after(this.#running);
    return await unlessAborted(this.#waiting, signal);
  }

  async #after(running: Promise<unknown> | undefined): Promise<T> {
    await running?.catch(() => undefined);
    // Those who ask within this turn go with it.
    await Promise.resolve();
    this.#waiting = undefined;
    const call = this.#call();
    this.#running = call;
    try {
      return await call;
    } finally {
      if (this.#running === call) this.#running = undefined;
    }
  }
}
