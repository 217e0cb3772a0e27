import { createHash } from 'node:crypto';

/**
 * The key of one post, fixed before it is sent: 43 characters of base64url, of the room, the chat, the first entry of the
 * room's log that it tells, and which part of a longer text it is.
 */
export function postKey(room: string, chat: string, seq: number, chunk: number): string {
  return createHash('sha256')
    .update(JSON.stringify([room, chat, seq, chunk]))
    .digest('base64url');
}
