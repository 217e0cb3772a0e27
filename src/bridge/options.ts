import type { Client } from '@temporalio/client';
import type { ChatAdapter, ChatMessage } from './adapter.ts';
import type { People } from './people/list.ts';

/** What to do where the ledger has no post on record and the chat shows one of this bot for this room. */
export const LOST_LEDGER = ['mark', 'skip'] as const;
export type LostLedger = (typeof LOST_LEDGER)[number];

/** Options of {@link runBridge}. What the callbacks throw is reported, and stops nothing. */
export interface BridgeOptions {
  readonly client: Client;
  readonly room: string;
  readonly adapter: ChatAdapter;
  /** Default `synod`. */
  readonly taskQueue?: string;
  /** Milliseconds between two posts about the same agent; default 5,000. 0: one post an entry, at once. */
  readonly intervalMs?: number;
  /** After so many seconds of silence another bridge may take over; default 15, at most 300. */
  readonly leaseSeconds?: number;
  /** Entries that wait for a chat which cannot be reached; the oldest beyond that are left out, and a post says so. Default 1,000. */
  readonly capacity?: number;
  /** Where the first bridge of this chat begins: at the start of what the room keeps (default), or now. Later ones go on. */
  readonly begin?: 'start' | 'now';
  /**
   * What to do where the ledger has no post on record and the chat shows one of this bot for this room: the ledger was lost, e.g. terminated.
   * `mark` (default): post what the room keeps, marked as a possible repeat up to what is in its log by then. `skip`: pass over that.
   */
  readonly lostLedger?: LostLedger;
  /** What a person wrote in the chat: at least once, in order. What it throws is noted, and the next message comes. Without it nothing is read. */
  readonly onMessage?: (message: ChatMessage) => Promise<void>;
  /** Who may post and act in the room from the chat, and as whom. Without it nobody may. */
  readonly people?: People;
  /** What happens to the bridge, in sentences. */
  readonly onNote?: (note: string) => void;
  /** Called once: it posts, and what people write from now on is read; or it stands by because another bridge posts. */
  readonly onReady?: () => void;
}
