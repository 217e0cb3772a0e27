import type { Envelope } from '../../envelope/envelope.ts';
import { RENEWALS_A_LEASE } from '../../envelope/limits.ts';
import { reasonOf } from '../messages/answers.ts';
import { z } from 'zod';
import { jittered, MAX_TIMER_MS } from '../timing/timing.ts';

/** Why a lease is over before its work was done; the `reason` of the handler's signal. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

const renewed = z.object({
  type: z.enum(['task.renewed', 'lock.renewed', 'coordinator.alive']),
  /** Absent where it never changes. */
  lease_seconds: z.number().optional(),
});

/**
 * A lease that renews itself. It is counted from the moment at which it was asked for, on this process's own steady
 * clock, so that it ends here no later than for the others.
 */
export class Lease {
  readonly #renew: () => Promise<readonly Envelope[]>;
  readonly #abort = new AbortController();
  #leaseMs: number;
  #deadline: number;
  #renewing: NodeJS.Timeout | undefined;
  #expiring: NodeJS.Timeout | undefined;
  #closed = false;

  /**
   * @param askedAt `performance.now()` when the lease was asked for.
   * @param renew sends a renewal and resolves to its replies.
   * @param options `firstRenewalMs`: the first renewal comes that soon, in milliseconds, where it is not known well when the lease began.
   */
  constructor(
    leaseSeconds: number,
    askedAt: number,
    renew: () => Promise<readonly Envelope[]>,
    options: { readonly firstRenewalMs?: number } = {},
  ) {
    this.#renew = renew;
    this.#leaseMs = leaseSeconds * 1000;
    this.#deadline = askedAt + this.#leaseMs;
    this.#schedule(options.firstRenewalMs);
    this.#watch();
  }

  /** How long it lasts yet, in milliseconds, on this process's clock. */
  get leftMs(): number {
    return this.#deadline - performance.now();
  }

  /** Fires when the lease is lost. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get lost(): boolean {
    // A process that was stopped finds its timers late: the clock decides, not the timer.
    if (!this.#closed && performance.now() >= this.#deadline) this.lose('the lease has run out');
    return this.#abort.signal.aborted;
  }

  /** The lease is over for the others: the work must stop. */
  lose(reason: string): void {
    if (this.#closed) return;
    this.close();
    this.#abort.abort(new LeaseLost(reason));
  }

  /** The work is done or given back: no more renewals. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#renewing);
    clearTimeout(this.#expiring);
  }

  #schedule(soonMs: number = Number.POSITIVE_INFINITY): void {
    const ms = Math.min(soonMs, jittered(this.#leaseMs / (RENEWALS_A_LEASE + 1)));
    this.#renewing = setTimeout(() => void this.#again(), Math.min(ms, MAX_TIMER_MS));
  }

  #watch(): void {
    clearTimeout(this.#expiring);
    const left = this.leftMs;
    this.#expiring = setTimeout(
      () => (this.lost ? undefined : this.#watch()),
      Math.min(Math.max(0, left), MAX_TIMER_MS),
    );
  }

  async #again(): Promise<void> {
    const askedAt = performance.now();
    try {
      const [answer] = await this.#renew();
      if (this.#closed) return;
      const parsed = renewed.safeParse(answer);
      if (!parsed.success) {
        // What comes too late is refused because it has run out.
        if (!this.lost) this.lose(`the renewal was refused: ${reasonOf(answer)}`);
        return;
      }
      this.#leaseMs = (parsed.data.lease_seconds ?? this.#leaseMs / 1000) * 1000;
      this.#deadline = askedAt + this.#leaseMs;
      this.#watch();
    } catch (error) {
      // The lease still has its time: the next renewal may get through.
      process.emitWarning(`synod: a renewal failed: ${String(error)}`);
    }
    if (!this.#closed) this.#schedule();
  }
}
