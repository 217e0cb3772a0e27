import {
  decide,
  openBarrier,
  type BarrierOptions,
  type BarrierOutcome,
  type DecisionOutcome,
  type ProposalOptions,
} from '../../src/in-workflow/index.ts';

/** Puts a question to the vote. */
export async function asking(room: string, proposal: ProposalOptions): Promise<DecisionOutcome> {
  return await decide(room, proposal);
}

/** Opens a phase and waits for it. */
export async function gathering(room: string, phase: string, options: BarrierOptions): Promise<BarrierOutcome> {
  const barrier = await openBarrier(room, phase, options);
  return await barrier.outcome();
}
