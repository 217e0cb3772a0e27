import type { BarrierMessage } from '../../envelope/barrier.ts';
import { formatTimestamp, type Json } from '../../envelope/fields.ts';
import { MAX_LISTED_NAMES } from '../../envelope/limits.ts';
import type { Outgoing, Verdict } from '../protocol.ts';
import { standingOf, type BarrierState, type Standing } from './state.ts';

/** An emission without what is undefined. */
type Emission = { type: string; [field: string]: Json };

/** The first names of each list that is asked for, beside how many there are of all. */
export function named(standing: Standing, lists: readonly (keyof Standing)[]): { [field: string]: Json } {
  return {
    ...Object.fromEntries(lists.map((list) => [list, standing[list].slice(0, MAX_LISTED_NAMES)])),
    arrived_count: standing.arrived.length,
    missing_count: standing.missing.length,
    dropped_count: standing.dropped.length,
  };
}

/** How a barrier that has ended stands: at a release whoever is missing is dropped. */
export function finalStanding(state: BarrierState): Standing {
  const standing = standingOf(state);
  if (state.ended !== 'released') return standing;
  return { ...standing, missing: [], dropped: [...standing.dropped, ...standing.missing] };
}

/** The last emission of a barrier that has ended. */
export function outcomeOf(state: BarrierState): Emission | undefined {
  const { barrier, ended } = state;
  if (!barrier || !ended) return undefined;
  const lists: (keyof Standing)[] = ended === 'released' ? ['arrived', 'dropped'] : ['arrived', 'missing', 'dropped'];
  return { type: `barrier.${ended}`, phase: barrier.phase, ...named(finalStanding(state), lists) };
}

/** Says at a time-out who is missing. */
export function escalation(phase: string, standing: Standing): Emission {
  return { type: 'barrier.escalated', phase, ...named(standing, ['missing']) };
}

/** The replies that a verdict stands for. Verdicts say how many moves had been made, and how many members were known. */
export function answer(message: BarrierMessage, verdict: Verdict, state: BarrierState): readonly Outgoing[] {
  const { from: to, phase } = message;
  const [kind, ...parts] = verdict;
  const [first, second, ended] = parts;
  const outcome = outcomeOf(state);
  const end = ended === 'ended' && outcome ? [outcome] : [];
  switch (kind) {
    case 'roster':
      return [{ type: 'barrier.accepted', to, phase, roster_count: Number(second) }, ...end];
    case 'waiting':
      return [waiting(state, to, phase, Number(first), Number(second)), ...end];
    case 'left': {
      const counts = named(standingOf(state, Number(first), Number(second)), []);
      return [{ type: 'barrier.accepted', to, phase, ...counts }, ...end];
    }
    case 'extended':
      return [{ type: 'barrier.accepted', to, phase, timeout_at: formatTimestamp(Number(first)) }];
    case 'resolved':
      return outcome ? [outcome] : [];
    default:
      return [];
  }
}

function waiting(state: BarrierState, to: string, phase: string, moves?: number, known?: number): Outgoing {
  return { type: 'barrier.waiting', to, phase, ...named(standingOf(state, moves, known), ['arrived', 'missing']) };
}

/** What became of a message since it was answered: how it ended, or how things stand now. */
export function since(state: BarrierState, message: BarrierMessage, verdict: Verdict): readonly Outgoing[] {
  const [kind, moves, , ended] = verdict;
  if (kind === 'resolved' || ended === 'ended') return [];
  const outcome = outcomeOf(state);
  if (outcome) return [outcome];
  return kind !== 'extended' && state.moves.length > Number(moves) ? [waiting(state, message.from, message.phase)] : [];
}
