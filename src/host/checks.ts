import { workflowIdOf } from '../envelope/address.ts';
import { configSet, type ConfigSet } from '../envelope/calls.ts';
import {
  OPERATOR_PREFIX,
  SYNOD,
  isMessageType,
  isRefusal,
  parseMessage,
  readRaw,
  type Base,
} from '../envelope/envelope.ts';
import { agentId, key, parseTimestamp } from '../envelope/fields.ts';
import { refusal, type Refusal } from '../envelope/refusal.ts';
import type { MessageRule, Protocol } from '../protocols/protocol.ts';

/** What a raw value turned out to be, before anything is known of the state. */
export type Shaped<M> =
  | { readonly kind: 'unhandled' }
  /** `sender` and `id` are what could be made out of a malformed message. */
  | {
      readonly kind: 'refused';
      readonly refusal: Refusal;
      readonly sender: string | undefined;
      readonly id: string | undefined;
    }
  | { readonly kind: 'message'; readonly message: M }
  | { readonly kind: 'config'; readonly message: ConfigSet };

/** The first two checks, shape and role. A type that the workflow does not handle is nobody's fault and gets no answer. */
export function shape<S, M extends Base>(raw: unknown, protocol: Protocol<S, M>): Shaped<M> {
  const type = typeOf(raw);
  if (type !== undefined && type !== configSet.shape.type.value && !Object.hasOwn(protocol.messages, type))
    return { kind: 'unhandled' };
  const fields = readRaw(raw);
  if (isRefusal(fields)) return malformed(raw, fields);
  if (type === undefined)
    return malformed(raw, refusal('invalid_envelope', 'type must be an area and a verb, such as task.claim'));
  const rule = protocol.messages[type];
  return rule
    ? checked<M, M>(raw, rule, (message) => ({ kind: 'message', message }))
    : checked<ConfigSet, M>(raw, CONFIG_RULE, (message) => ({ kind: 'config', message }));
}

const CONFIG_RULE: MessageRule<ConfigSet> = { schema: configSet, operator: true };

function checked<T extends Base, M>(raw: unknown, rule: MessageRule<T>, wrap: (message: T) => Shaped<M>): Shaped<M> {
  const message = parseMessage(raw, rule.schema);
  if (isRefusal(message)) return malformed(raw, message);
  const role = checkRole(message, rule.operator ?? false);
  return role
    ? { kind: 'refused', refusal: role, sender: message.from === SYNOD ? undefined : message.from, id: message.id }
    : wrap(message);
}

function checkRole(message: Base, operatorOnly: boolean): Refusal | undefined {
  if (message.from === SYNOD) return refusal('unauthorized', `from "${SYNOD}" is reserved for the primitives`);
  if (operatorOnly && !message.from.startsWith(OPERATOR_PREFIX)) {
    return refusal('unauthorized', `${message.type} is for operators: from must start with "${OPERATOR_PREFIX}"`);
  }
  return undefined;
}

/** The message type that a raw value names, where it names any. */
export function typeOf(raw: unknown): string | undefined {
  if (typeof raw !== 'object' || raw === null || !('type' in raw)) return undefined;
  return isMessageType(raw.type) ? raw.type : undefined;
}

function malformed<M>(raw: unknown, refused: Refusal): Shaped<M> {
  const fields: { from?: unknown; id?: unknown } = typeof raw === 'object' && raw !== null ? raw : {};
  const sender = agentId.safeParse(fields.from);
  const id = key.safeParse(fields.id);
  return {
    kind: 'refused',
    refusal: refused,
    sender: sender.success && sender.data !== SYNOD ? sender.data : undefined,
    id: id.data,
  };
}

/** Whether the message has passed its own end. At the very millisecond it has. */
export function checkExpiry(message: Base, now: number): Refusal | undefined {
  if (message.expires_at === undefined) return undefined;
  const at = parseTimestamp(message.expires_at);
  return at !== null && at <= now ? refusal('expired', `expires_at ${message.expires_at} has passed`) : undefined;
}

/** Whether the message is meant for this workflow: same room, same task, proposal, phase or role. */
export function checkAddress<S, M extends Base>(
  raw: unknown,
  message: object,
  protocol: Protocol<S, M>,
  room: string,
  workflowId: string,
): Refusal | undefined {
  if (typeof raw === 'object' && raw !== null && 'room' in raw && raw.room !== room) {
    return refusal('invalid_envelope', `room names another room than ${room}`);
  }
  const { nameField, kind } = protocol;
  const name: unknown = nameField === undefined ? undefined : Reflect.get(message, nameField);
  if (nameField === undefined || typeof name !== 'string') return undefined;
  return workflowIdOf(room, kind, name) === workflowId
    ? undefined
    : refusal('invalid_envelope', `${nameField} names another ${kind} than ${workflowId}`);
}
