import { MAX_SENDERS } from '../envelope/limits.ts';

const INTERVAL_MS = 1_000;

/** At most one logged refusal a sender and second, so that a storm of bad signals cannot push everything else out of the log. */
export class RefusalQuota {
  readonly #last = new Map<string, number>();

  allows(sender: string, now: number): boolean {
    const last = this.#last.get(sender);
    if (last !== undefined && now < last + INTERVAL_MS) return false;
    this.#last.delete(sender);
    this.#last.set(sender, now);
    const oldest = this.#last.keys().next();
    if (this.#last.size > MAX_SENDERS && !oldest.done) this.#last.delete(oldest.value);
    return true;
  }
}
