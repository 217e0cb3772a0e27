import { z } from 'zod';
import { barrierTarget } from '../envelope/targets.ts';
import { barrierMessages, rosterParts } from '../envelope/barrier.ts';
import { sha256Hex } from '../envelope/canonical.ts';
import { open, type Opened } from './opening.ts';
import { checkedRoom, compose, lingering } from './send.ts';
import { senderOf, type SenderOptions } from './sender.ts';

const names = z.array(z.string()).default([]);
const members = {
  phase: z.string(),
  arrived: names,
  missing: names,
  dropped: names,
  arrived_count: z.number(),
  missing_count: z.number(),
  dropped_count: z.number(),
};
const barrierOutcome = z
  .object({ type: z.enum(['barrier.released', 'barrier.failed']), ...members })
  .transform(
    ({ arrived_count: arrivedCount, missing_count: missingCount, dropped_count: droppedCount, ...fields }) => ({
      ...fields,
      arrivedCount,
      missingCount,
      droppedCount,
    }),
  );

/** How a barrier ended: `barrier.released` or `barrier.failed`. Each list names the first 32, the counts are of all. */
export type BarrierOutcome = z.infer<typeof barrierOutcome>;

/** A barrier to open. */
export interface BarrierOptions extends SenderOptions {
  /** Who has to come, 1 to 1,024 agent ids. */
  readonly roster: readonly string[];
  /** Longest time to wait for all, in seconds. */
  readonly timeoutSeconds: number;
  /** At the time-out: go on with who is there, ask an operator, or fail. */
  readonly fallback: 'proceed' | 'escalate' | 'fail';
  /** With `proceed`: so many must be there; default all. */
  readonly quorum?: number;
  /** Seconds for which it answers after it has ended; default 60. */
  readonly lingerSeconds?: number;
}

/** A barrier that was opened. */
export type OpenedBarrier = Opened<BarrierOutcome>;

/**
 * Opens a barrier for a phase of a room's work. Opened again with the same fields, by a later run, it is the same barrier.
 * @throws ApplicationFailure `invalid_envelope` naming the field; `idempotency_conflict` where the phase was opened differently.
 * @example
 * const barrier = await openBarrier('lab', 'collect', { roster: ['ann', 'bob'], timeoutSeconds: 600, fallback: 'proceed', quorum: 1 });
 * const { type, arrived, dropped } = await barrier.outcome();
 */
export async function openBarrier(room: string, phase: string, options: BarrierOptions): Promise<OpenedBarrier> {
  const sender = senderOf(options);
  const { roster, timeoutSeconds, fallback, quorum, lingerSeconds } = options;
  // A list that is none is left to the schema to refuse.
  const [first, ...others] = Array.isArray(roster) ? rosterParts(roster) : [roster];
  const key = sha256Hex(String(phase));
  const opening = compose(barrierMessages['barrier.open'], sender, {
    type: 'barrier.open',
    phase,
    roster: first,
    timeout_seconds: timeoutSeconds,
    fallback,
    quorum,
    more: others.length > 0,
    idempotency_key: `open-${key}`,
  });
  const parts = others.map((part, i) =>
    compose(barrierMessages['barrier.roster'], sender, {
      type: 'barrier.roster',
      phase,
      roster: part,
      more: i < others.length - 1,
      idempotency_key: `roster-${i}-${key}`,
    }),
  );
  const target = barrierTarget(checkedRoom(room), opening.phase, lingering(lingerSeconds));
  return await open(sender, target, [opening, ...parts], (envelope) => barrierOutcome.safeParse(envelope).data);
}
