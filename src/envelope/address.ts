import { sha256Hex } from './canonical.ts';
import type { Json } from './fields.ts';

/** The task queue where Synod's workflows run unless configured. */
export const DEFAULT_TASK_QUEUE = 'synod';

/** The part of a workflow id that says which primitive it is. */
export type AddressKind = 'task' | 'coordinator' | 'proposal' | 'barrier' | 'locks' | 'room' | 'bridge' | 'state';

const SAFE = /^[A-Za-z0-9._-]$/;
/** PostgreSQL keeps 255 characters of a workflow id, so longer names are replaced by their hash. */
const MAX_ENCODED = 150;

/**
 * A name as part of a workflow id: percent-encoded outside `[A-Za-z0-9._-]`, so that no two names have one id;
 * past 150 bytes encoded, `~` and the SHA-256 of its UTF-8.
 */
export function encodeName(name: string): string {
  let encoded = '';
  for (const char of name) encoded += SAFE.test(char) ? char : percent(char);
  return encoded.length > MAX_ENCODED ? `~${sha256Hex(name)}` : encoded;
}

function percent(char: string): string {
  // encodeURIComponent leaves these five as they are.
  if ("!'()*".includes(char)) return `%${char.charCodeAt(0).toString(16).toUpperCase()}`;
  return char === '~' ? '%7E' : encodeURIComponent(char);
}

/** The workflow id of a primitive, e.g. `synod:lab:task:t-1`, or `synod:lab:room` for one of which a room has a single one. */
export function workflowIdOf(room: string, kind: AddressKind, name?: string): string {
  return name === undefined ? `synod:${room}:${kind}` : `synod:${room}:${kind}:${encodeName(name)}`;
}

/** Length of a {@link markOf}. */
export const MARK_LENGTH = 12;

/** The beginning of the ids of all that one workflow emits: ids are unique per sender, and all primitives are one sender. */
export function markOf(workflowId: string): string {
  return sha256Hex(workflowId).slice(0, MARK_LENGTH);
}

/** Whether a workflow id lies in Synod's own name space, where `reply_to` may not point. */
export function isSynodId(workflowId: string): boolean {
  return workflowId.startsWith('synod:');
}

/** A primitive as it is addressed: which workflow it is, and how it is started where it does not run. */
export interface Target {
  readonly room: string;
  readonly workflowType: string;
  readonly workflowId: string;
  /** The message type that opens it; absent for those that the first message starts. */
  readonly opening?: string | undefined;
  readonly config?: { readonly [key: string]: Json } | undefined;
}
