import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { Problem } from './errors.ts';
import { DEFAULT_RATE, RATE_WINDOW_SECONDS, type StoredToken } from './tokens.ts';

/** Requests that one token may have open at once; streams count too. */
const MAX_OPEN = 256;

/** How often each token may ask, and for how much at once. A hub, which is for many agents, has no rate unless it is given one. */
export class Rates {
  readonly #limiters = new Map<number, RateLimiterMemory>();
  readonly #open = new Map<string, number>();
  readonly #maxOpen: number;

  constructor(maxOpen: number = MAX_OPEN) {
    this.#maxOpen = maxOpen;
  }

  /** Counts a request. @throws Problem `rate_limited`, with the seconds to wait. */
  async take({ id, hub, rate = hub ? 0 : DEFAULT_RATE }: StoredToken): Promise<void> {
    if (rate === 0) return;
    const points = Math.max(1, Math.round(rate * RATE_WINDOW_SECONDS));
    const limiter =
      this.#limiters.get(points) ??
      new RateLimiterMemory({ keyPrefix: String(points), points, duration: RATE_WINDOW_SECONDS });
    this.#limiters.set(points, limiter);
    try {
      await limiter.consume(id);
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused;
      const seconds = Math.max(1, Math.ceil(refused.msBeforeNext / 1000));
      throw limited(`this token may make ${points} requests in ${RATE_WINDOW_SECONDS} s`, seconds);
    }
  }

  /** Counts a request as open until what is returned is called. @throws Problem `rate_limited`. */
  hold({ id, hub }: StoredToken): () => void {
    const open = this.#open.get(id) ?? 0;
    if (!hub && open >= this.#maxOpen) throw limited(`this token has ${open} requests and streams open`, 1);
    this.#open.set(id, open + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const left = (this.#open.get(id) ?? 1) - 1;
      if (left > 0) this.#open.set(id, left);
      else this.#open.delete(id);
    };
  }
}

function limited(message: string, seconds: number): Problem {
  return new Problem('rate_limited', `${message}: wait ${seconds} s`, {
    headers: { 'retry-after': String(seconds) },
  });
}
