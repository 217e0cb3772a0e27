import { z } from 'zod';
import type { Envelope } from '../../envelope/envelope.ts';
import { parseTimestamp } from '../../envelope/fields.ts';

/** How long a lease lasts, on this process's own steady clock. */
export interface Term {
  /** The whole lease, in milliseconds. */
  readonly leaseMs: number;
  /** `performance.now()` when it is over: no later than for the server. */
  readonly endsAt: number;
}

const time = z
  .string()
  .transform((value) => parseTimestamp(value) ?? undefined)
  .optional()
  .catch(undefined);
const fields = z.object({
  ts: time,
  /** Absent where it never changes. */
  lease_seconds: z.number().optional().catch(undefined),
  lease_expires_at: time,
});
const RENEWED = new Set(['task.renewed', 'lock.renewed', 'coordinator.alive']);

/**
 * What an envelope says of a lease. Its `ts` is the server's time when it was made, so the lease had `lease_expires_at` - `ts`
 * left then; how long ago that was cannot be known, as the answer may have waited in a buffer. It was after `sentAt`, though.
 * @param sentAt `performance.now()` when something was sent that was handled before the envelope was made.
 * @param leaseMs the lease where the envelope does not say.
 */
export function termOf(envelope: Envelope, sentAt: number, leaseMs: number = 0): Term {
  const { ts, lease_seconds: seconds, lease_expires_at: expiresAt } = fields.parse(envelope);
  const whole = seconds === undefined ? leaseMs : seconds * 1000;
  const left = ts === undefined || expiresAt === undefined ? whole : Math.min(whole, expiresAt - ts);
  return { leaseMs: whole, endsAt: sentAt + left };
}

/** The term that a renewal's answer gives; undefined where it is no renewal. */
export function renewedTerm(answer: Envelope | undefined, sentAt: number, leaseMs: number): Term | undefined {
  return answer && RENEWED.has(answer.type) ? termOf(answer, sentAt, leaseMs) : undefined;
}

/**
 * A term to begin work under. Where most of it may be over already, it is renewed first: what was granted long ago, or
 * answered late, may have ended for the server.
 * @param renew sends a renewal and resolves to its replies.
 * @returns the answer to the renewal where that was refused.
 */
export async function confirmed(
  term: Term,
  renew: () => Promise<readonly Envelope[]>,
): Promise<Term | { readonly refused: Envelope | undefined }> {
  for (let enough = term.leaseMs / 2; term.endsAt - performance.now() <= enough; enough = 0) {
    const sentAt = performance.now();
    const [answer] = await renew();
    const next = renewedTerm(answer, sentAt, term.leaseMs);
    if (!next) return { refused: answer };
    term = next;
  }
  return term;
}
