import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import {
  barrierTarget,
  coordinatorTarget,
  locksTarget,
  proposalTarget,
  roomTarget,
  stateTarget,
  taskTarget,
} from '../envelope/targets.ts';
import type { Target } from '../envelope/address.ts';
import { barrierMessages, type BarrierMessage } from '../envelope/barrier.ts';
import { coordinatorMessages, type CoordinatorMessage } from '../envelope/coordinator.ts';
import { decisionMessages, type DecisionMessage } from '../envelope/decision.ts';
import { isRefusal, parseMessage, readRaw, type Base } from '../envelope/envelope.ts';
import { formatTimestamp, whole } from '../envelope/fields.ts';
import { DEFAULT_MAX_HOPS } from '../envelope/limits.ts';
import { lockMessages, type LockMessage } from '../envelope/lock.ts';
import { roomMessages, type RoomMessage } from '../envelope/room.ts';
import { stateMessages, type StateMessage } from '../envelope/state.ts';
import { taskMessages, type TaskMessage } from '../envelope/task.ts';
import { Problem } from './errors.ts';
import { maySpeakFor, type StoredToken } from './tokens.ts';

type AnyMessage =
  TaskMessage | CoordinatorMessage | DecisionMessage | BarrierMessage | LockMessage | RoomMessage | StateMessage;

/** Every message that an agent may send, by its type. */
export const messageSchemas: Readonly<Record<string, z.ZodType<AnyMessage>>> = {
  ...taskMessages,
  ...coordinatorMessages,
  ...decisionMessages,
  ...barrierMessages,
  ...lockMessages,
  ...roomMessages,
  ...stateMessages,
};

/** A message that may be sent on, and where to. */
export interface Incoming {
  readonly message: Base;
  readonly target: Target;
  /** The same message, where it is for a lock manager: which one is only known by asking. */
  readonly lock: LockMessage | undefined;
}

/**
 * Reads what an agent has sent to a room: fills in `id`, `from` and `ts`, takes one hop off, and finds the workflow that it is for.
 * @throws Problem `invalid_envelope` naming the field, `unauthorized`, `over_limit` or `hops_exhausted`.
 */
export function incoming(raw: unknown, room: string, token: StoredToken): Incoming {
  const given = readRaw(raw);
  if (isRefusal(given)) throw new Problem(given.code, given.reason);
  const { type } = given;
  const schema = typeof type === 'string' && Object.hasOwn(messageSchemas, type) ? messageSchemas[type] : undefined;
  if (!schema) throw new Problem('invalid_envelope', `type must be one of ${Object.keys(messageSchemas).join(', ')}`);
  if ('room' in given && given['room'] !== room)
    throw new Problem('invalid_envelope', `room names another room than ${room}`);
  // Only what is absent is filled in: null is a value.
  const { id = randomUUID(), from = token.agent, ts = formatTimestamp(Date.now()) } = given;
  if (typeof from !== 'string' || !maySpeakFor(token, from))
    throw new Problem('unauthorized', `from is not ${token.agent}, which is who this token is for`);
  if (given['reply_to'] !== undefined)
    throw new Problem('unauthorized', 'reply_to is for workflows: here, read messages or the stream');
  const message = parseMessage({ ...given, id, from, ts, max_hops: oneHopLess(given['max_hops']) }, schema);
  if (isRefusal(message)) throw new Problem(message.code, message.reason);
  return { message, target: targetOf(room, message), lock: isLock(message) ? message : undefined };
}

/** What is left for the next one; a gateway forwards. */
function oneHopLess(value: unknown = DEFAULT_MAX_HOPS): unknown {
  const hops = whole(0, 16).safeParse(value);
  if (!hops.success) return value;
  if (hops.data > 1) return hops.data - 1;
  throw new Problem('hops_exhausted', 'max_hops leaves no hop for the gateway: the message goes no further');
}

/** The workflow that a message is for. */
function targetOf(room: string, message: AnyMessage): Target {
  if ('task_id' in message) return taskTarget(room, message.task_id);
  if ('proposal_id' in message) return proposalTarget(room, message.proposal_id);
  if ('phase' in message) return barrierTarget(room, message.phase);
  if ('role' in message) return coordinatorTarget(room, message.role);
  if ('namespace' in message) return stateTarget(room, message.namespace);
  return isLock(message) ? locksTarget(room) : roomTarget(room);
}

function isLock(message: AnyMessage): message is LockMessage {
  return Object.hasOwn(lockMessages, message.type);
}
