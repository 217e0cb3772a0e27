import { createHash } from 'node:crypto';

const PREFIX_CHARACTERS = 8;
const KEY_CHARACTERS = 43;

/** How the keys of all posts of one room in one chat begin: by this the bot's posts for other rooms are distinguished. */
export function keyPrefix(room: string, chat: string): string {
  return hashOf(JSON.stringify([room, chat])).slice(0, PREFIX_CHARACTERS);
}

/**
 * The key of one post, fixed before it is sent: 43 characters of base64url, of the room, the chat, the number of the last entry of the
 * room's log in it, which part of a longer text it is, and that text: a log that begins anew has the same numbers.
 */
export function postKey(room: string, chat: string, last: number, part: number, whole: string): string {
  const key = keyPrefix(room, chat) + hashOf(JSON.stringify([room, chat, last, part, whole]));
  return key.slice(0, KEY_CHARACTERS);
}

/** A text's hash, by which it is known again when it is split anew. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
