import { z } from 'zod';
import { message } from './envelope.ts';
import { key, name, seconds, text, whole } from './fields.ts';

/** How long the poster of a chat may be silent before another may take its place, in seconds. */
export const MAX_BRIDGE_LEASE_SECONDS = 300;
const DEFAULT_BRIDGE_LEASE_SECONDS = 15;
/** UTF-16 units of one post: its envelope must stay within 16 KiB, whatever the text is made of. */
export const MAX_POST_TEXT = 4_000;

/** The chat: its service and its room there, e.g. `matrix:!abc:example.org`. */
const chat = name;
/** Rises whenever another poster begins: the fencing token of posting. */
const epoch = whole(1);
/** A number of the room's log; 0 before its first entry. */
const cursor = whole(0);

/** Where a chat is in the room's log. */
const place = {
  /** The last entry that has been posted. */
  after: cursor,
  /** Parts of the next entry that have been posted; 0 where none has. */
  part: whole(0),
};

/**
 * Messages to the ledger of one chat, `synod:{room}:bridge:{chat}`, from the bridges that would post there. Nothing of it is
 * published to the room.
 */
export const bridgeMessages = {
  /** Asks to be the one that posts. `cursor`: where to begin, the first time ever. */
  'bridge.take': message('bridge.take', {
    chat,
    lease_seconds: seconds({ max: MAX_BRIDGE_LEASE_SECONDS }).default(DEFAULT_BRIDGE_LEASE_SECONDS),
    cursor: cursor.default(0),
  }),
  /**
   * Renews the lease. `cursor`: entries up to it hold nothing for people. `heard`: how far the chat has been read. `doubtful_to`: entries up to
   * it may be in the chat from before this ledger, and are posted marked.
   */
  'bridge.renew': message('bridge.renew', {
    chat,
    epoch,
    cursor: cursor.optional(),
    heard: text.max(1_000, 'must have at most 1000 characters').optional(),
    doubtful_to: cursor.optional(),
  }),
  /** A post that is about to be sent: from here on it is in doubt until it is settled. Again with the same key: the text that is sent from now on. */
  'bridge.send': message('bridge.send', {
    chat,
    epoch,
    ...place,
    /** The same at every attempt. */
    key,
    text: text.refine(
      // Not max(): zod counts code points, a bridge UTF-16 units.
      ({ length }) => length >= 1 && length <= MAX_POST_TEXT,
      `must have 1 to ${MAX_POST_TEXT} characters`,
    ),
    /** The last entry that it covers. */
    last: cursor,
    /** Into how many parts the text is split, of which this is number `part`. */
    parts: whole(1, 1_000),
    /** Hash of the whole text, by which it is known again when it is split anew. */
    whole: key,
  }),
  /** What became of the post in doubt: it is in the chat, or never will be. */
  'bridge.settle': message('bridge.settle', {
    chat,
    epoch,
    key,
    outcome: z.enum(['posted', 'refused'], 'must be posted or refused'),
    /** The chat's id of it. */
    post_id: text.max(300, 'must have at most 300 characters').optional(),
  }),
  /** Another may post. */
  'bridge.release': message('bridge.release', { chat, epoch }),
};

export type BridgeMessage = z.infer<(typeof bridgeMessages)[keyof typeof bridgeMessages]>;

/** A post that may or may not be in the chat. */
export const doubtfulPost = z.object({
  key: z.string(),
  text: z.string(),
  last: z.number(),
  part: z.number(),
  parts: z.number(),
  whole: z.string(),
});
export type DoubtfulPost = z.infer<typeof doubtfulPost>;

/** How far a chat has been posted to and read, as whoever takes it over must know it. */
export const bridgePlace = z.object({
  after: z.number(),
  part: z.number(),
  /** Hash of the text whose parts are being posted; empty between texts. */
  whole: z.string(),
  heard: z.string().optional(),
  /** The chat's id of the last post that is known to be there. */
  post_id: z.string().optional(),
  doubt: doubtfulPost.optional(),
  /** Entries up to it may be in the chat from before this ledger. */
  doubtful_to: z.number().optional(),
});
export type BridgePlace = z.infer<typeof bridgePlace>;
