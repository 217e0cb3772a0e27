import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { sha256Hex } from '../../envelope/canonical.ts';
import { isRefusal, readMessage, type Base } from '../../envelope/envelope.ts';
import { agentId, roomName } from '../../envelope/fields.ts';
import { parseErrors, SynodError } from '../../envelope/refusal.ts';

/** A message of an agent: `id` and `ts` are filled in, everything is checked before it is sent. Throws a {@link SynodError} naming the field. */
export function compose<M extends Base>(
  schema: z.ZodType<M>,
  from: string,
  fields: { type: string; [field: string]: unknown },
): M {
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  const message = readMessage({ id: randomUUID(), from, ts: new Date().toISOString(), ...given }, schema);
  if (isRefusal(message)) throw new SynodError(message.code, message.reason);
  return message;
}

/** An agent id or a room's name that was checked; throws a {@link SynodError} naming which it is. */
export function checked(what: 'agent' | 'room', value: string): string {
  const parsed = (what === 'agent' ? agentId : roomName).safeParse(value, parseErrors);
  if (parsed.success) return parsed.data;
  throw new SynodError('invalid_envelope', `${what} ${parsed.error.issues[0]?.message ?? 'is malformed'}`);
}

/** The idempotency key of what is done once a name. What is no name is for the schema to refuse. */
export function keyFor(what: string, name: string): string {
  return `${what}-${sha256Hex(String(name))}`;
}
