import { identityOf, OPERATOR_PREFIX } from '../../envelope/envelope.ts';
import { parseTimestamp, toMilliseconds, type Json } from '../../envelope/fields.ts';
import { refusal, type Refusal } from '../../envelope/refusal.ts';
import { taskMessages, type TaskAnnounce, type TaskMessage } from '../../envelope/task.ts';
import type { Context, Decided, Decision, Outgoing, Protocol, Verdict } from '../protocol.ts';
import { rules } from '../protocol.ts';
import { announcement, answer, since } from './answers.ts';
import { resumed } from './resumed.ts';
import { taskState, type Lease, type Task, type TaskState } from './state.ts';
import { boardRowOf, detailsOf, viewOf } from './view.ts';

/** Unclaimed windows double up to this, in milliseconds. */
const MAX_WINDOW_MS = 10 * 60_000;
/** Attempts whose end is remembered; whoever has had more handed it back so often. */
const MAX_ENDS = 1_000;

/** Source of the rules: "Group Coordination Among Autonomous Agents", pattern 1, and the wire contract's table. */
export const taskLease: Protocol<TaskState, TaskMessage> = {
  workflowType: 'taskLease',
  kind: 'task',
  area: 'task',
  nameField: 'task_id',
  opening: 'task.announce',
  messages: rules<TaskMessage>(taskMessages),
  config: {},
  state: taskState,
  urgent: new Set(['task.expired', 'task.failed', 'task.completed', 'task.cancelled']),

  initial: () => ({ attempt: 0, ends: '', since: 0 }),

  decide(state, input, context) {
    switch (input.kind) {
      case 'message':
        return input.message.type === 'task.announce'
          ? announce(input.message, context)
          : onMessage(state, input.message, context);
      case 'deadline':
        return onDeadline(state, context);
      default:
        return { state };
    }
  },

  known,
  answer,
  since,

  nextDeadline(state) {
    const { task, lease, claim } = state;
    if (state.outcome || !task) return null;
    if (lease) return { at: lease.expires_at, summary: `lease of ${lease.holder}, attempt ${state.attempt}` };
    if (!claim) return null;
    return task.expires_at !== undefined && task.expires_at < claim.deadline
      ? { at: task.expires_at, summary: 'the announcement expires' }
      : { at: claim.deadline, summary: `claim window, attempt ${state.attempt}` };
  },

  resumed,

  view: viewOf,
  details: detailsOf,
  row: boardRowOf,
  outcome: (state) => state.outcome,
  involves: (state, agent) => !state.outcome && (state.task?.producer === agent || state.lease?.holder === agent),
};

function announce(message: TaskAnnounce, { now }: Context): Decision<TaskState> {
  const claimMs = toMilliseconds(message.claim_seconds);
  const task: Task = {
    task_id: message.task_id,
    title: message.title,
    ...(message.input === undefined ? {} : { input: message.input }),
    claim_ms: claimMs,
    lease_ms: toMilliseconds(message.lease_seconds),
    max_attempts: message.max_attempts,
    priority: message.priority,
    ...(message.capabilities ? { capabilities: message.capabilities } : {}),
    producer: message.from,
    announced_at: now,
    ...(message.expires_at === undefined ? {} : { expires_at: parseTimestamp(message.expires_at) ?? undefined }),
  };
  return {
    state: { task, attempt: 1, ends: '', since: now, claim: { deadline: now + claimMs, window: claimMs } },
    verdict: ['accepted', 1],
    note: { attempt: 1 },
    pin: true,
  };
}

function onMessage(
  state: TaskState,
  message: Exclude<TaskMessage, TaskAnnounce>,
  context: Context,
): Decision<TaskState> {
  const { task } = state;
  if (!task) return { refuse: refusal('closed', `task ${message.task_id} was never announced`) };
  if (state.outcome)
    return { refuse: refusal('closed', `task ${message.task_id} has ended with ${state.outcome.type}`) };
  switch (message.type) {
    case 'task.claim':
      return claim(state, task, message, context);
    case 'task.cancel': {
      if (message.from !== task.producer && !message.from.startsWith(OPERATOR_PREFIX)) {
        return {
          refuse: refusal(
            'unauthorized',
            `only the producer ${task.producer} or an operator may cancel task ${task.task_id}`,
          ),
        };
      }
      return endedBy(message, ['cancelled', state.lease?.holder ?? null], state, context);
    }
    default:
      return byHolder(state, task, message, context);
  }
}

function claim(
  state: TaskState,
  task: Task,
  message: Extract<TaskMessage, { type: 'task.claim' }>,
  { now }: Context,
): Decision<TaskState> {
  if (state.lease) return { state, verdict: ['lost', state.lease.holder, state.attempt], quiet: true };
  const ms = leaseMs(message.lease_seconds, task);
  if (typeof ms !== 'number') return { refuse: ms };
  const expiresAt = now + ms;
  return {
    state: {
      task,
      attempt: state.attempt,
      ends: state.ends,
      since: now,
      lease: {
        holder: message.from,
        key: identityOf(message).key,
        ms,
        claimed_ms: ms,
        expires_at: expiresAt,
        first_expires_at: expiresAt,
      },
    },
    verdict: ['won', state.attempt, ms, expiresAt],
  };
}

/** What was decided about the claim of the lease that is held. */
function known({ task, lease, attempt }: TaskState, message: TaskMessage): Verdict | 'other' | undefined {
  const { from, key } = identityOf(message);
  if (message.type !== 'task.claim' || !task || lease?.holder !== from || lease.key !== key) return undefined;
  const ms = leaseMs(message.lease_seconds, task);
  return ms === lease.claimed_ms ? ['won', attempt, ms, lease.first_expires_at] : 'other';
}

/** The length of a lease asked for, in milliseconds, or why it is refused. */
function leaseMs(asked: number | undefined, task: Task, current: number = task.lease_ms): number | Refusal {
  const ms = asked === undefined ? current : toMilliseconds(asked);
  return ms <= task.lease_ms
    ? ms
    : refusal('invalid_envelope', `lease_seconds must be at most the announced ${task.lease_ms / 1000}`);
}

/** The length of a renewal that asks for none: as it was claimed, whatever renewals came between. */
function renewalMs({ ms, claimed_ms: claimed = ms }: Lease, { revision }: Context): number {
  return revision < 2 ? ms : claimed;
}

function byHolder(
  state: TaskState,
  task: Task,
  message: Exclude<TaskMessage, { type: 'task.announce' | 'task.claim' | 'task.cancel' }>,
  context: Context,
): Decision<TaskState> {
  const { lease } = state;
  if (message.attempt < state.attempt) {
    return {
      refuse: refusal('stale_token', `attempt ${message.attempt} is over; the task is at attempt ${state.attempt}`),
    };
  }
  if (message.attempt > state.attempt) {
    return {
      refuse: refusal(
        'invalid_envelope',
        `attempt ${message.attempt} was never issued; the task is at attempt ${state.attempt}`,
      ),
    };
  }
  if (!lease || lease.holder !== message.from) {
    return {
      refuse: refusal(
        'not_holder',
        lease ? `attempt ${state.attempt} is held by ${lease.holder}` : 'nobody holds the task',
      ),
    };
  }
  switch (message.type) {
    case 'task.renew': {
      const ms = leaseMs(message.lease_seconds, task, renewalMs(lease, context));
      if (typeof ms !== 'number') return { refuse: ms };
      const expiresAt = context.now + ms;
      return {
        state: { ...state, lease: { ...lease, ms, expires_at: expiresAt } },
        verdict: ['renewed', state.attempt, ms, expiresAt],
        quiet: true,
      };
    }
    case 'task.complete': {
      return endedBy(message, ['completed', state.attempt, lease.holder], state, context);
    }
    case 'task.fail': {
      if (message.retry && state.attempt < task.max_attempts) return again(state, task, context);
      return endedBy(
        message,
        ['failed', state.attempt, lease.holder, message.retry ? 'attempts_exhausted' : null],
        state,
        context,
      );
    }
    case 'task.release':
      // A release is no failure: it is announced again even past max_attempts, under a new token.
      return again(state, task, context);
  }
}

/** Hands the task back: open again, under the next attempt. */
function again(state: TaskState, task: Task, { now }: Context): Decided<TaskState> {
  const next = { ...reopened(task, state.attempt + 1, now), ends: ended(state, 'b') };
  return { state: next, verdict: ['again', next.attempt] };
}

/** How the attempts have ended, with one more. */
function ended({ ends }: TaskState, how: 'e' | 'b'): string {
  return (ends + how).slice(0, MAX_ENDS);
}

function reopened(task: Task, attempt: number, now: number, window: number = task.claim_ms): Omit<TaskState, 'ends'> {
  return { task, attempt, since: now, claim: { deadline: now + window, window } };
}

/** Ends the task by a message; the completing one is never forgotten. */
function endedBy(message: TaskMessage, verdict: Verdict, state: TaskState, context: Context): Decided<TaskState> {
  return { ...end(state, answer(message, verdict, state), context), emit: [], verdict, pin: true };
}

/** Ends the task; the last of what is emitted is its outcome. */
function end(state: TaskState, emit: readonly Outgoing[], { now }: Context): Decided<TaskState> {
  const last = emit[emit.length - 1];
  const outcome = last && { ...defined(last), type: last.type };
  return {
    state: { task: state.task, attempt: state.attempt, ends: state.ends, since: now, outcome },
    emit,
    effects: outcome?.type === 'task.failed' ? [{ name: 'escalate', input: outcome }] : [],
  };
}

function defined(outgoing: Outgoing): { [field: string]: Json } {
  return Object.fromEntries(
    Object.entries(outgoing).flatMap(([field, value]) => (value === undefined ? [] : [[field, value]])),
  );
}

function onDeadline(state: TaskState, context: Context): Decision<TaskState> {
  const { task, lease, claim, attempt } = state;
  if (!task || state.outcome) return { state };
  const { now } = context;
  const about = { task_id: task.task_id, attempt };
  const expired = task.expires_at !== undefined && task.expires_at <= now;
  if (lease && lease.expires_at <= now) return leaseEnded(state, task, lease, expired, context);
  if (!claim) return { state };
  if (expired) return end(state, [{ type: 'task.failed', ...about, reason: 'expired' }], context);
  if (claim.deadline > now) return { state };
  const window = Math.max(task.claim_ms, Math.min(claim.window * 2, MAX_WINDOW_MS));
  return {
    state: { ...reopened(task, attempt, now, window), ends: state.ends, since: state.since },
    emit: [{ type: 'task.unclaimed', ...about }, announcement(task, attempt)],
  };
}

function leaseEnded(
  state: TaskState,
  task: Task,
  lease: Lease,
  expired: boolean,
  context: Context,
): Decision<TaskState> {
  const { attempt } = state;
  const about = { task_id: task.task_id, attempt };
  const lost: Outgoing = { type: 'task.expired', ...about, holder: lease.holder };
  if (attempt >= task.max_attempts || expired) {
    const reason = attempt >= task.max_attempts ? 'attempts_exhausted' : 'expired';
    return end(state, [lost, { type: 'task.failed', ...about, reason }], context);
  }
  return {
    state: { ...reopened(task, attempt + 1, context.now), ends: ended(state, 'e') },
    emit: [lost, announcement(task, attempt + 1)],
  };
}
