import { z } from 'zod';
import { MISSED_HEARTBEATS } from '../../envelope/coordinator.ts';

/** An election: the candidates, the coordinator, the epoch. Times are epoch milliseconds. */
export const electionState = z.object({
  /** The role and the time between heartbeats, which the first join ever fixes. */
  term: z.object({ role: z.string(), heartbeat_ms: z.number() }).optional(),
  /** The number of the latest election: only rises. 0 before the first. */
  epoch: z.number(),
  /** Since when the role is led, or vacant. */
  since: z.number(),
  leader: z.object({ coordinator: z.string(), heard_at: z.number() }).optional(),
  /** How the latest coordinator went, while nobody has followed it. */
  gone: z.object({ type: z.enum(['coordinator.lost', 'coordinator.resigned']), coordinator: z.string() }).optional(),
  /** The candidates, the lowest id first, and when each was last active. The coordinator is one of them. */
  candidates: z.array(z.tuple([z.string(), z.number()])),
});
export type ElectionState = z.infer<typeof electionState>;
export type Term = NonNullable<ElectionState['term']>;
export type Candidates = ElectionState['candidates'];

/** The time after which a candidate that was last active at `at` is not active any more: at that very millisecond it is not. */
export function activeUntil(at: number, { heartbeat_ms }: Term): number {
  return at + MISSED_HEARTBEATS * heartbeat_ms;
}

/** The candidates without those that are not active any more. */
export function active(candidates: Candidates, term: Term, now: number): Candidates {
  return candidates.every(([, at]) => activeUntil(at, term) > now)
    ? candidates
    : candidates.filter(([, at]) => activeUntil(at, term) > now);
}

export function isCandidate({ candidates }: ElectionState, agent: string): boolean {
  return candidates.some(([candidate]) => candidate === agent);
}

/** The candidates with one that was active now; ids stay in the order of their code units. */
export function withActive(candidates: Candidates, agent: string, now: number): Candidates {
  const at = candidates.findIndex(([candidate]) => candidate >= agent);
  const before = at < 0 ? candidates : candidates.slice(0, at);
  const after = at < 0 ? [] : candidates.slice(candidates[at]?.[0] === agent ? at + 1 : at);
  return [...before, [agent, now], ...after];
}

export function without(candidates: Candidates, agent: string): Candidates {
  return candidates.filter(([candidate]) => candidate !== agent);
}

/** Bytes of JSON that everything but the candidates takes at most, and those of a candidate beside its id, which is ASCII. */
const FRAME_BYTES = 2_048;
const CANDIDATE_BYTES = 24;

/** An upper bound of the bytes of a state's JSON: with thousands of candidates it is too much to be written out at each message. */
export function sizeOf({ candidates }: ElectionState): number {
  return candidates.reduce((sum, [candidate]) => sum + candidate.length + CANDIDATE_BYTES, FRAME_BYTES);
}
