/** A message that somebody has written in the chat. */
export interface ChatMessage {
  /** The service's id of it. */
  readonly id: string;
  /** The service's stable id of the person, never a display name. */
  readonly author: string;
  readonly text: string;
  /** The thread it is in, to answer there; absent outside of threads. */
  readonly thread?: string;
}

/** What {@link ChatAdapter.readForward} has found. */
export interface ChatPage {
  /** Of people alone, the oldest first: posts of bots and of the bridge itself are left out. */
  readonly messages: readonly ChatMessage[];
  /** The next call's `cursor`. */
  readonly cursor: string;
}

/** How much one post may hold, as the service counts it, after `escape`. */
export interface ChatLimits {
  /** UTF-16 units. */
  readonly characters: number;
  /** Bytes of UTF-8, where the service counts these too. */
  readonly bytes?: number;
}

/** How often a service may be asked what people write, in milliseconds between two reads. */
export interface ChatPace {
  /** After news. */
  readonly busy: number;
  /** Where nobody writes: the pause grows up to it. */
  readonly quiet: number;
}

export interface PostOptions {
  /** Answers in this thread. */
  readonly thread?: string;
  readonly signal?: AbortSignal;
}

/** A post whose outcome is not known, as it was sent. */
export interface SentPost {
  /** What was sent, escaped: a service that keeps no keys is searched for it. */
  readonly text: string;
  /** The thread that it answers in. */
  readonly thread?: string;
  /**
   * The service's id of the last post before it, where that is known: what is older is another post, be its text the same.
   * Without it, a service that keeps no keys is only asked about posts of this very adapter.
   */
  readonly after?: string;
}

/** What was looked for in the chat: its id; `absent` where it is known not to be there; `unknown` where that cannot be found out. */
export type Found = { readonly id: string } | 'absent' | 'unknown';

/**
 * One chat room of one service. An adapter never repeats a call by itself, and a library that it uses has its retries off:
 * only the ledger repeats. Every method throws {@link ChatError} and nothing else, but for the reason of a fired signal.
 */
export interface ChatAdapter {
  /** The service, e.g. `matrix`: `[a-z][a-z0-9-]*`. */
  readonly name: string;
  /** The chat room, unique for the service; with `name` it names the ledger. No secrets. */
  readonly target: string;
  readonly limits: ChatLimits;
  readonly pace: ChatPace;
  /**
   * Plain text as the service must be sent it, so that it is shown as it is: its markup escaped, code fences (```) kept.
   * Pure. Mentions are already broken when it comes here; the post itself must ask the service to ping nobody as well.
   */
  escape(text: string): string;
  /** Who the bot is, as `author` would say it; fails with `refused` where the token is wrong. */
  identity(signal?: AbortSignal): Promise<string>;
  /**
   * Posts `text`, already escaped and within `limits`. `key` (43 characters of base64url) is the same at every attempt: what the
   * service has for that (transaction id, nonce, metadata, idempotency key) carries it.
   */
  post(key: string, text: string, options?: PostOptions): Promise<{ id: string }>;
  /**
   * What became of a post whose outcome is not known: its id; `absent` only where the service would show it by now;
   * else `unknown`, after which it is posted again, marked.
   */
  readBack(key: string, sent: SentPost, signal?: AbortSignal): Promise<Found>;
  /**
   * The newest post of this bot whose key begins with `keyPrefix`, or, where the service keeps no keys, of this bot at all.
   * `absent` only where the service shows that there is none. Without this method the chat cannot be asked.
   */
  newestPost?(keyPrefix: string, signal?: AbortSignal): Promise<Found>;
  /**
   * What people wrote after `cursor`; without one, nothing yet, and the cursor of now. It may wait some seconds for news or
   * answer at once: between pages the caller pauses, as `pace` says.
   */
  readForward(cursor: string | undefined, signal?: AbortSignal): Promise<ChatPage>;
}

/** What a failed call means for what was asked. */
export type ChatFault =
  /** Not taken: later, after `retryAfterMs` where the service says so. */
  | 'rate-limited'
  /** Not taken, and never will be: the token, the permission or the room is wrong. The bridge stops. */
  | 'refused'
  /** Not taken, and never will be: this one post is not to the service's liking (too long, malformed). Others may be. */
  | 'unacceptable'
  /** It may have been taken: a time-out or a lost connection after sending, or an error of the service. */
  | 'ambiguous'
  /** Not taken: nobody was reached. */
  | 'unavailable';

/** The only error of an adapter. Its message holds no token. */
export class ChatError extends Error {
  override readonly name = 'ChatError';
  readonly fault: ChatFault;
  /** How long the service asks to wait, in milliseconds; only with `rate-limited`. */
  readonly retryAfterMs: number | undefined;

  constructor(fault: ChatFault, message: string, options: { retryAfterMs?: number | undefined; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.fault = fault;
    this.retryAfterMs = options.retryAfterMs;
  }
}
