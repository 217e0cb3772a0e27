import { formatTimestamp, type Json } from '../../envelope/fields.ts';
import { MAX_LISTED_NAMES } from '../../envelope/limits.ts';
import type { BoardRow } from '../../envelope/room.ts';
import { clock, plain } from '../../envelope/plain.ts';
import { finalAttendance, named, outcomeOf } from './answers.ts';
import { rosterSize, type BarrierState } from './state.ts';

/** `unopened`, `open`, `escalated`, or how it ended: `released`, `failed`. */
export function statusOf({ barrier, ended, deadline }: BarrierState): string {
  if (!barrier) return 'unopened';
  return ended ?? (deadline === undefined ? 'escalated' : 'open');
}

export function viewOf(state: BarrierState): { [field: string]: Json } {
  const { barrier, deadline, members } = state;
  const status = statusOf(state);
  if (!barrier) return { status };
  const { arrived, missing, dropped } = finalAttendance(state);
  const outcome = outcomeOf(state);
  return {
    status,
    phase: barrier.phase,
    opener: barrier.opener,
    fallback: barrier.fallback,
    ...(barrier.quorum === undefined ? {} : { quorum: barrier.quorum }),
    timeout_seconds: barrier.timeout_ms / 1000,
    opened_at: formatTimestamp(barrier.opened_at),
    since: formatTimestamp(state.since),
    ...(deadline === undefined ? {} : { timeout_at: formatTimestamp(deadline) }),
    escalations: state.escalations,
    roster: Object.entries(members)
      .sort(([, a], [, b]) => a - b)
      .map(([agent]) => agent),
    roster_complete: state.complete,
    ...named({ arrived, missing, dropped }, []),
    arrived: [...arrived],
    missing: [...missing],
    dropped: [...dropped],
    ...(outcome ? { outcome } : {}),
  };
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_LISTED_NAMES).join(', ');
  return names.length > MAX_LISTED_NAMES ? `${shown} and ${names.length - MAX_LISTED_NAMES} more` : shown;
}

export function detailsOf(state: BarrierState): string {
  const { barrier, deadline, escalations, complete } = state;
  if (!barrier) return 'Not opened yet.';
  const { arrived, missing, dropped } = finalAttendance(state);
  const status = statusOf(state);
  return [
    ...(state.ended ? [`${status === 'released' ? 'Released' : 'Failed'} at ${clock(state.since)}.`] : []),
    ...(status === 'escalated'
      ? [`Escalated at ${clock(state.since)}, ${escalations} times in all; an operator may send barrier.resolve.`]
      : []),
    ...(deadline === undefined ? [] : [`Waits until ${clock(deadline)}; then: ${barrier.fallback}.`]),
    `${arrived.length} of ${rosterSize(state)} members are in${complete ? '' : '; the roster is not complete'}.`,
    ...(missing.length > 0 ? [`Missing: ${listed(missing)}.`] : []),
    ...(dropped.length > 0 ? [`Dropped: ${listed(dropped)}.`] : []),
    `Phase "${plain(barrier.phase)}", opened by ${barrier.opener} at ${clock(barrier.opened_at)}.`,
  ].join('\n');
}

export function boardRowOf(state: BarrierState): BoardRow | undefined {
  const { barrier } = state;
  if (!barrier) return undefined;
  return { id: barrier.phase, kind: 'barrier', status: statusOf(state), since: formatTimestamp(state.since) };
}
