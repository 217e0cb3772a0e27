import { z } from 'zod';
import { byName, valueOf } from '../../envelope/byName.ts';

/** A barrier: who is expected, who came and who left. Times are epoch milliseconds. */
export const barrierState = z.object({
  barrier: z
    .object({
      phase: z.string(),
      opener: z.string(),
      fallback: z.enum(['proceed', 'escalate', 'fail']),
      /** How many must be in at a time-out with `proceed`; absent: all. */
      quorum: z.number().optional(),
      timeout_ms: z.number(),
      opened_at: z.number(),
    })
    .optional(),
  /** Each member's place in the roster; only ever added to. */
  members: byName(z.number()),
  /** The last part of the roster has come. */
  complete: z.boolean(),
  /** Who came, by its place, and who left, by -1 - its place, the first first: only ever appended to. */
  moves: z.array(z.number()),
  /** When time runs out; absent once it has, until an operator extends it. */
  deadline: z.number().optional(),
  /** How often it was escalated. */
  escalations: z.number(),
  /** Since when the status is what it is. */
  since: z.number(),
  ended: z.enum(['released', 'failed']).optional(),
});
export type BarrierState = z.infer<typeof barrierState>;
export type Barrier = NonNullable<BarrierState['barrier']>;

/** Who is in, who is not, and who does not count any more. */
export interface Attendance {
  /** The first to come first. */
  readonly arrived: readonly string[];
  /** In the order of the roster. */
  readonly missing: readonly string[];
  /** The first to leave first. */
  readonly dropped: readonly string[];
}

/** How many members the roster has so far, with those that have left. */
export function rosterSize({ members }: BarrierState): number {
  return Object.keys(members).length;
}

/** A member's place in the roster. */
export function placeOf({ members }: BarrierState, agent: string): number | undefined {
  return valueOf(members, agent);
}

/** Who was in when so many moves had been made and so many members were known; by default now. */
export function attendanceOf(
  state: BarrierState,
  moves: number = state.moves.length,
  known: number = rosterSize(state),
): Attendance {
  const roster: string[] = [];
  for (const [agent, place] of Object.entries(state.members)) roster[place] = agent;
  const arrived = new Set<number>();
  const left = new Set<number>();
  for (const move of state.moves.slice(0, moves)) {
    if (move >= 0) arrived.add(move);
    else {
      arrived.delete(-1 - move);
      left.add(-1 - move);
    }
  }
  const name = (place: number) => roster[place] ?? '';
  return {
    arrived: [...arrived].map(name),
    missing: roster.slice(0, known).filter((_, place) => !arrived.has(place) && !left.has(place)),
    dropped: [...left].map(name),
  };
}
