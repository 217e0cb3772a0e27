import { formatTimestamp, type Json } from '../../envelope/fields.ts';
import type { BoardRow } from '../../envelope/room.ts';
import { clock, plain } from '../../envelope/plain.ts';
import { activeUntil, type ElectionState } from './state.ts';

/** `unopened` before the first join, `held`, or `vacant`. */
export function statusOf({ term, leader }: ElectionState): string {
  if (!term) return 'unopened';
  return leader ? 'held' : 'vacant';
}

export function viewOf(state: ElectionState): { [field: string]: Json } {
  const { term, leader, gone, candidates } = state;
  return {
    status: statusOf(state),
    epoch: state.epoch,
    since: formatTimestamp(state.since),
    ...(leader ? { coordinator: leader.coordinator, last_heartbeat: formatTimestamp(leader.heard_at) } : {}),
    ...(leader && term ? { lost_at: formatTimestamp(activeUntil(leader.heard_at, term)) } : {}),
    ...(gone ? { gone: { ...gone } } : {}),
    ...(term ? { role: term.role, heartbeat_seconds: term.heartbeat_ms / 1000 } : {}),
    candidate_count: candidates.length,
    candidates: candidates.map(([candidate, at]) => ({ candidate, last_active: formatTimestamp(at) })),
  };
}

export function detailsOf(state: ElectionState): string {
  const { term, leader, gone, epoch, candidates } = state;
  if (!term) return 'Nobody has joined yet.';
  const role = `role "${plain(term.role)}"`;
  const summary = `Candidates: ${candidates.length}. Heartbeats every ${term.heartbeat_ms / 1000} s.`;
  if (leader) {
    const until = clock(activeUntil(leader.heard_at, term));
    return `${leader.coordinator} leads ${role} in epoch ${epoch} since ${clock(state.since)}; lost at ${until} without a heartbeat.\n${summary}`;
  }
  const how = gone ? `: ${gone.coordinator} ${gone.type === 'coordinator.lost' ? 'was lost' : 'has resigned'}` : '';
  return `The ${role} is vacant since ${clock(state.since)}${how}. The latest epoch is ${epoch}.\n${summary}`;
}

export function boardRowOf(state: ElectionState): BoardRow | undefined {
  const { term, leader } = state;
  if (!term) return undefined;
  return {
    id: term.role,
    kind: 'coordinator',
    status: statusOf(state),
    ...(leader ? { holder: leader.coordinator } : {}),
    since: formatTimestamp(state.since),
  };
}
