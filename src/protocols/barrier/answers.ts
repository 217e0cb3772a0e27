import type { BarrierMessage } from '../../envelope/barrier.ts';
import { formatTimestamp, type Json } from '../../envelope/fields.ts';
import { MAX_LISTED_NAMES } from '../../envelope/limits.ts';
import type { Outgoing, Verdict } from '../protocol.ts';
import { attendanceOf, type BarrierState, type Attendance } from './state.ts';

/** An emission without what is undefined. */
type Emission = { type: string; [field: string]: Json };

/** The first names of each list that is asked for, beside how many there are of all. */
export function named(attendance: Attendance, lists: readonly (keyof Attendance)[]): { [field: string]: Json } {
  return {
    ...Object.fromEntries(lists.map((list) => [list, attendance[list].slice(0, MAX_LISTED_NAMES)])),
    arrived_count: attendance.arrived.length,
    missing_count: attendance.missing.length,
    dropped_count: attendance.dropped.length,
  };
}

/** Who was in when a barrier ended: at a release whoever is missing is dropped. */
export function finalAttendance(state: BarrierState): Attendance {
  const attendance = attendanceOf(state);
  if (state.ended !== 'released') return attendance;
  return { ...attendance, missing: [], dropped: [...attendance.dropped, ...attendance.missing] };
}

/** The last emission of a barrier that has ended. */
export function outcomeOf(state: BarrierState): Emission | undefined {
  const { barrier, ended } = state;
  if (!barrier || !ended) return undefined;
  const lists: (keyof Attendance)[] = ended === 'released' ? ['arrived', 'dropped'] : ['arrived', 'missing', 'dropped'];
  return { type: `barrier.${ended}`, phase: barrier.phase, ...named(finalAttendance(state), lists) };
}

/** Names at a time-out who is missing. */
export function escalation(phase: string, attendance: Attendance): Emission {
  return { type: 'barrier.escalated', phase, ...named(attendance, ['missing']) };
}

/** The replies that a verdict stands for. Verdicts have how many moves had been made, and how many members were known. */
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
      const counts = named(attendanceOf(state, Number(first), Number(second)), []);
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
  return { type: 'barrier.waiting', to, phase, ...named(attendanceOf(state, moves, known), ['arrived', 'missing']) };
}

/** What became of a message since it was answered: how it ended, or who is in now. */
export function since(state: BarrierState, message: BarrierMessage, verdict: Verdict): readonly Outgoing[] {
  const [kind, moves, , ended] = verdict;
  if (kind === 'resolved' || ended === 'ended') return [];
  const outcome = outcomeOf(state);
  if (outcome) return [outcome];
  return kind !== 'extended' && state.moves.length > Number(moves) ? [waiting(state, message.from, message.phase)] : [];
}
