import { formatTimestamp, type Json } from '../../envelope/fields.ts';
import type { BoardRow } from '../../envelope/room.ts';
import { clock, plain } from '../../envelope/plain.ts';
import type { TaskState } from './state.ts';

/** `unopened`, `open`, `held`, or how it ended: `completed`, `failed`, `cancelled`. */
export function statusOf(state: TaskState): string {
  if (state.outcome) return state.outcome.type.replace('task.', '');
  if (state.lease) return 'held';
  return state.task ? 'open' : 'unopened';
}

export function viewOf(state: TaskState): { [field: string]: Json } {
  const { task, lease, claim } = state;
  return {
    status: statusOf(state),
    attempt: state.attempt,
    since: formatTimestamp(state.since),
    ...(lease
      ? { holder: lease.holder, lease_seconds: lease.ms / 1000, lease_expires_at: formatTimestamp(lease.expires_at) }
      : {}),
    ...(claim ? { claim_expires_at: formatTimestamp(claim.deadline) } : {}),
    ...(state.outcome ? { outcome: { ...state.outcome } } : {}),
    ...(task
      ? {
          task_id: task.task_id,
          title: task.title,
          producer: task.producer,
          priority: task.priority,
          max_attempts: task.max_attempts,
          claim_seconds: task.claim_ms / 1000,
          announced_lease_seconds: task.lease_ms / 1000,
          announced_at: formatTimestamp(task.announced_at),
          ...(task.input === undefined ? {} : { input: task.input }),
          ...(task.capabilities ? { capabilities: task.capabilities } : {}),
          ...(task.expires_at === undefined ? {} : { expires_at: formatTimestamp(task.expires_at) }),
        }
      : {}),
  };
}

export function detailsOf(state: TaskState): string {
  const { task, lease, claim, attempt } = state;
  if (!task) return 'Not announced yet.';
  const attempts = `attempt ${attempt} of ${task.max_attempts}`;
  return [
    ...(state.outcome ? [`Ended at ${clock(state.since)}: ${statusOf(state)} (${attempts}).`] : []),
    ...(lease
      ? [`Held by ${lease.holder} (${attempts}); the lease ends at ${clock(lease.expires_at)} unless renewed.`]
      : []),
    ...(claim
      ? [`Open for claims (${attempts}); announced again at ${clock(claim.deadline)} if nobody claims it.`]
      : []),
    `Task "${plain(task.title)}", announced by ${task.producer} at ${clock(task.announced_at)}.`,
  ].join('\n');
}

export function boardRowOf(state: TaskState): BoardRow | undefined {
  const { task } = state;
  if (!task) return undefined;
  return {
    id: task.task_id,
    kind: 'task',
    status: statusOf(state),
    ...(state.lease ? { holder: state.lease.holder } : {}),
    // A task that was lost and is open again is as old as its first announcement, and not last in the queue.
    since: formatTimestamp(statusOf(state) === 'open' ? task.announced_at : state.since),
    priority: task.priority,
    ...(task.capabilities ? { capabilities: task.capabilities } : {}),
  };
}
