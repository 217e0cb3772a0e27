import { createHash } from 'node:crypto';

/**
 * The key of one post, fixed before it is sent: 43 characters of base64url, of the room, the chat, the last entry of the
 * room's log that it tells, which part of a longer text it is, and that text: a log that begins anew has the same numbers.
 */
export function postKey(room: string, chat: string, last: number, part: number, whole: string): string {
  return createHash('sha256')
    .update(JSON.stringify([room, chat, last, part, whole]))
    .digest('base64url');
}

/** A text's hash, by which it is known again when it is split anew. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
