import { formatTimestamp } from '../../envelope/fields.ts';
import type { TaskMessage } from '../../envelope/task.ts';
import type { Outgoing, Verdict } from '../protocol.ts';
import type { Lease, Task, TaskState } from './state.ts';

/** A task announced again by the primitive. */
export function announcement(task: Task, attempt: number): Outgoing {
  return {
    type: 'task.announce',
    task_id: task.task_id,
    title: task.title,
    ...(task.input === undefined ? {} : { input: task.input }),
    claim_seconds: task.claim_ms / 1000,
    lease_seconds: task.lease_ms / 1000,
    max_attempts: task.max_attempts,
    priority: task.priority,
    ...(task.capabilities ? { capabilities: task.capabilities } : {}),
    attempt,
  };
}

/** The replies that a verdict stands for. */
export function answer(message: TaskMessage, verdict: Verdict, { task }: TaskState): readonly Outgoing[] {
  const about = { task_id: message.task_id };
  const [kind, ...parts] = verdict;
  const to = message.from;
  switch (kind) {
    case 'accepted':
      return [{ type: 'task.accepted', to, ...about, attempt: Number(parts[0]) }];
    case 'won': {
      const attempt = Number(parts[0]);
      return [
        { type: 'task.ack', to, ...about, attempt, ...leaseFields(Number(parts[1]), Number(parts[2])) },
        { type: 'task.closed', ...about, reason: 'claimed', holder: message.from, attempt },
      ];
    }
    case 'lost':
      return [
        { type: 'task.closed', to, ...about, reason: 'claimed', holder: String(parts[0]), attempt: Number(parts[1]) },
      ];
    case 'renewed':
      return [
        {
          type: 'task.renewed',
          to,
          ...about,
          attempt: Number(parts[0]),
          ...leaseFields(Number(parts[1]), Number(parts[2])),
        },
      ];
    case 'completed': {
      const result = message.type === 'task.complete' && message.result !== undefined ? { result: message.result } : {};
      return [{ type: 'task.completed', ...about, attempt: Number(parts[0]), holder: String(parts[1]), ...result }];
    }
    case 'failed': {
      const given = message.type === 'task.fail' ? message.reason : '';
      const reason = parts[2] === null ? { reason: given } : { reason: String(parts[2]), detail: given };
      return [{ type: 'task.failed', ...about, attempt: Number(parts[0]), holder: String(parts[1]), ...reason }];
    }
    case 'again':
      return task ? [announcement(task, Number(parts[0]))] : [];
    case 'cancelled': {
      const reason = message.type === 'task.cancel' && message.reason !== undefined ? { reason: message.reason } : {};
      return [
        {
          type: 'task.cancelled',
          ...about,
          by: message.from,
          ...(parts[0] === null ? {} : { holder: String(parts[0]) }),
          ...reason,
        },
      ];
    }
    default:
      return [];
  }
}

function leaseFields(ms: number, expiresAt: number): { lease_seconds: number; lease_expires_at: string } {
  return { lease_seconds: ms / 1000, lease_expires_at: formatTimestamp(expiresAt) };
}

/** What became of a message since it was answered. */
export function since(state: TaskState, message: TaskMessage, verdict: Verdict): readonly Outgoing[] {
  const [kind, first] = verdict;
  const { task, lease, outcome } = state;
  if (!task || kind === 'completed' || kind === 'failed' || kind === 'cancelled') return [];
  if (outcome) return [outcome];
  if (kind === 'won' && (Number(first) !== state.attempt || lease?.holder !== message.from)) {
    const attempt = Number(first);
    const to = message.from;
    if (state.ends[attempt - 1] !== 'b')
      return [{ type: 'task.expired', to, task_id: task.task_id, attempt, holder: to }];
    // It gave the task back itself: what matters to it is the present state of the task.
    return [{ ...(lease ? taken(task, lease, state.attempt) : announcement(task, state.attempt)), to }];
  }
  if (kind === 'won' && lease && lease.expires_at !== lease.first_expires_at) {
    return [
      {
        type: 'task.renewed',
        to: message.from,
        task_id: task.task_id,
        attempt: state.attempt,
        ...leaseFields(lease.ms, lease.expires_at),
      },
    ];
  }
  if (kind === 'accepted' && lease) return [{ ...taken(task, lease, state.attempt), to: message.from }];
  return [];
}

function taken(task: Task, lease: Lease, attempt: number): Outgoing {
  return { type: 'task.closed', task_id: task.task_id, reason: 'claimed', holder: lease.holder, attempt };
}
