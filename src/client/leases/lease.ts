import type { Envelope } from '../../envelope/envelope.ts';
import { RENEWALS_A_LEASE } from '../../envelope/limits.ts';
import { reasonOf } from '../messages/answers.ts';
import { jittered, MAX_TIMER_MS } from '../timing/timing.ts';
import { renewedTerm, type Term } from './term.ts';

/** Why a lease is over before its work was done; the `reason` of the handler's signal. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/**
 * A lease that renews itself. It runs on this process's own steady clock, from when it or its renewal was asked for, so
 * that it ends here no later than for the server.
 */
export class Lease {
  readonly #renew: () => Promise<readonly Envelope[]>;
  readonly #abort = new AbortController();
  #term: Term;
  #renewing: NodeJS.Timeout | undefined;
  #expiring: NodeJS.Timeout | undefined;
  #closed = false;
  #ranOut = false;
  /** The check under way, and whether another has been asked for since. */
  #checking: Promise<void> | undefined;
  #checkAgain = false;

  /** @param renew sends a renewal and resolves to its replies. */
  constructor(term: Term, renew: () => Promise<readonly Envelope[]>) {
    this.#renew = renew;
    this.#term = term;
    this.#schedule(Math.min(term.leaseMs, this.leftMs));
    this.#watch();
  }

  /** How long it lasts yet, in milliseconds, on this process's clock. */
  get leftMs(): number {
    return this.#term.endsAt - performance.now();
  }

  /** Fires when the lease is lost. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get lost(): boolean {
    // A process that was stopped finds its timers late: the clock decides, not the timer.
    if (!this.#closed && this.leftMs <= 0) {
      this.#ranOut = true;
      this.lose('the lease has run out');
    }
    return this.#abort.signal.aborted;
  }

  /** Whether it was lost by this process's own clock: for the server it may go on. */
  get ranOut(): boolean {
    return this.#ranOut;
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

  #schedule(leaseMs: number): void {
    const ms = jittered(leaseMs / (RENEWALS_A_LEASE + 1));
    this.#renewing = setTimeout(() => void this.check(), Math.min(ms, MAX_TIMER_MS));
  }

  #watch(): void {
    clearTimeout(this.#expiring);
    const left = this.leftMs;
    this.#expiring = setTimeout(
      () => (this.lost ? undefined : this.#watch()),
      Math.min(Math.max(0, left), MAX_TIMER_MS),
    );
  }

  /** Renews it at once, in case it is over for the server; resolves when that is known, or could not be learnt. */
  async check(): Promise<void> {
    this.#checkAgain = true;
    this.#checking ??= this.#checks();
    await this.#checking;
  }

  async #checks(): Promise<void> {
    while (this.#checkAgain && !this.#closed) {
      this.#checkAgain = false;
      clearTimeout(this.#renewing);
      await this.#again();
    }
    this.#checking = undefined;
    if (!this.#closed) this.#schedule(this.#term.leaseMs);
  }

  async #again(): Promise<void> {
    const sentAt = performance.now();
    try {
      const [answer] = await this.#renew();
      if (this.#closed) return;
      const term = renewedTerm(answer, sentAt, this.#term.leaseMs);
      if (!term) {
        // What comes too late is refused because it has run out.
        if (!this.lost) this.lose(`the renewal was refused: ${reasonOf(answer)}`);
        return;
      }
      this.#term = term;
      this.#watch();
    } catch (error) {
      // The lease still has its time: the next renewal may get through.
      process.emitWarning(`synod: a renewal failed: ${String(error)}`);
    }
  }
}
