import { z } from 'zod';
import { isSynodId } from './address.ts';
import { byName } from './byName.ts';
import { canonicalJson, sha256Hex } from './canonical.ts';
import { agentId, isJson, json, key, name, text, timestamp, whole, type Json } from './fields.ts';
import { fitsBytes, MAX_ENVELOPE_BYTES, MAX_JSON_DEPTH } from './limits.ts';
import { explain, parseErrors, refusal, type Refusal } from './refusal.ts';

/** The primitives' own sender id; nobody else may use it. */
export const SYNOD = 'synod';
/** People and tools that may send what is marked operator. */
export const OPERATOR_PREFIX = 'operator:';

const TYPE = /^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$/;

/** The fields that every envelope has, beside those of its type. */
const baseShape = {
  id: key,
  from: agentId,
  // Clocks differ: any text passes, and nothing ever reads it.
  ts: z.string(),
  in_reply_to: key.optional(),
  expires_at: timestamp.optional(),
  max_hops: whole(0, 16).optional(),
  idempotency_key: key.optional(),
  reply_to: text
    .min(1, 'must be a workflow id')
    .max(255, 'must be a workflow id of at most 255 characters')
    .refine((value) => !isSynodId(value), 'must be a workflow id outside synod:')
    .optional(),
};

/** What is not part of a message's body: two messages that differ only in these are the same message. */
const NOT_BODY: ReadonlySet<string> = new Set([...Object.keys(baseShape), 'to', 'seq']);

/** The fields of an envelope that no type adds. */
export interface Base {
  readonly type: string;
  /** Unique per message of a sender. */
  readonly id: string;
  readonly from: string;
  readonly ts: string;
  readonly in_reply_to?: string | undefined;
  readonly expires_at?: string | undefined;
  readonly max_hops?: number | undefined;
  readonly idempotency_key?: string | undefined;
  readonly reply_to?: string | undefined;
}

/** An envelope as it is logged and answered. */
export interface Envelope extends Base {
  /** The one agent that it is for; absent: the room. */
  readonly to?: string | undefined;
  /** Its place in the log of the workflow that emitted it, where it is logged. */
  readonly seq?: number | undefined;
  readonly [field: string]: Json | undefined;
}

/** The schema of one message type: the base fields and its own, unknown ones dropped. */
export function message<Type extends string, Shape extends z.ZodRawShape>(
  type: Type,
  shape: Shape,
): z.ZodObject<typeof baseShape & { type: z.ZodLiteral<Type> } & Shape> {
  return z.object({ type: z.literal(type), ...baseShape, ...shape });
}

/** A reference that a message carries to what it is about. */
export const references = { task_id: name, proposal_id: name, phase: name, role: name };

/** Whether a value could be an envelope's type: `area.verb`. */
export function isMessageType(value: unknown): value is string {
  return typeof value === 'string' && (TYPE.test(value) || value === 'error');
}

/** A raw value's fields, where it is a plain JSON object within the size and depth of an envelope. */
export function readRaw(raw: unknown): Record<string, unknown> | Refusal {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw))
    return refusal('invalid_envelope', 'envelope must be a JSON object');
  if (!isJson(raw, MAX_JSON_DEPTH)) {
    const [field, value] = Object.entries(raw).find(([, each]) => !isJson(each, MAX_JSON_DEPTH - 1)) ?? ['envelope'];
    const needed = typeof value === 'number' ? 'a finite number' : `JSON, at most ${MAX_JSON_DEPTH} levels deep`;
    return refusal('invalid_envelope', `${field.slice(0, 64)} must be ${needed}`);
  }
  if (!fitsBytes(JSON.stringify(raw), MAX_ENVELOPE_BYTES)) {
    return refusal('over_limit', `envelope is larger than ${MAX_ENVELOPE_BYTES} bytes of JSON`);
  }
  return Object.fromEntries(Object.entries(raw));
}

/** Parses a message with its schema; a refusal names the field. */
export function parseMessage<M>(raw: unknown, schema: z.ZodType<M>): M | Refusal {
  const parsed = schema.safeParse(raw, parseErrors);
  return parsed.success ? parsed.data : refusal('invalid_envelope', explain(parsed.error));
}

/** A raw value as the message of a schema; a refusal names the field. */
export function readMessage<M>(raw: unknown, schema: z.ZodType<M>): M | Refusal {
  const fields = readRaw(raw);
  return isRefusal(fields) ? fields : parseMessage(fields, schema);
}

export function isRefusal(value: object): value is Refusal {
  return 'code' in value && 'reason' in value && !('type' in value);
}

/** Who sent a message and the key by which it is the same message again: `from` and `idempotency_key`, which defaults to `id`. */
export function identityOf(message: Base): { from: string; key: string } {
  return { from: message.from, key: message.idempotency_key ?? message.id };
}

/** A message's body: its type and its protocol's fields. */
export function bodyOf(message: object): { [field: string]: Json } {
  const body: { [field: string]: Json } = {};
  for (const [field, value] of Object.entries(message)) {
    if (!NOT_BODY.has(field) && value !== undefined) Object.defineProperty(body, field, { value, enumerable: true });
  }
  return body;
}

/** Lower-case hex SHA-256 of a body's canonical JSON. */
export function bodyHash(message: object): string {
  return sha256Hex(canonicalJson(bodyOf(message)));
}

/** An envelope from another side, checked as far as its type can be read. */
export const envelopeLike = z.custom<Envelope>(
  (value) => typeof value === 'object' && value !== null && 'type' in value,
);
/** The replies to each of some messages, from another side. */
export const replies = z.array(z.array(envelopeLike));
/** A workflow's public state, from another side. */
export const publicState = byName(json);
