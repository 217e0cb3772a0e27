import { jittered } from '../client/timing/timing.ts';
import type { DoubtfulPost } from '../envelope/bridge.ts';
import { ChatError, type ChatAdapter } from './adapter.ts';
import type { Settled } from './ledger.ts';

/** Begins a post that may be there already. */
export const POSSIBLE_REPEAT = '(possible repeat) ';

/** Pauses before a repeat, in milliseconds, where the service gives no hint: they double, with jitter, up to the longest. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** A hint that is longer than this is asked for again after it. */
const LONGEST_HINT_MS = 10 * 60_000;

export interface DeliverOptions {
  readonly adapter: ChatAdapter;
  /** The chat's id of the post before this one. */
  readonly lastId?: string;
  /** Posts in this thread. */
  readonly thread?: string;
  /** Writes down that the post is sent marked from now on. */
  readonly recordMarked: (marked: DoubtfulPost) => Promise<void>;
  /** Called before each attempt: throws where this bridge may not post any more. */
  readonly mayPost: () => Promise<void>;
  /** Waits so many milliseconds; throws where nothing is to be tried any more. */
  readonly sleep: (ms: number) => Promise<void>;
  /** Fires when this bridge may not post any more. */
  readonly lost: AbortSignal;
  readonly onTrouble: (error: ChatError, pauseMs: number) => void;
}

/**
 * Brings one post to the chat, however often that must be tried. Every attempt has the same key; what may have arrived is
 * looked for before it is sent again, and what cannot be found out is marked.
 * @param doubted an attempt may have been made already.
 * @returns what became of it; throws {@link ChatError} `refused` where the chat refuses the bridge itself.
 */
export async function deliver(first: DoubtfulPost, doubted: boolean, options: DeliverOptions): Promise<Settled> {
  const { adapter, lastId, thread, mayPost, lost } = options;
  const where = thread === undefined ? {} : { thread };
  let post = first;
  let inDoubt = doubted;
  for (let failures = 0; ; failures++) {
    await mayPost();
    try {
      if (inDoubt) {
        const sent = { text: post.text, ...where, ...(lastId === undefined ? {} : { after: lastId }) };
        const found = await adapter.readBack(post.key, sent, lost);
        if (typeof found === 'object') return { outcome: 'posted', id: found.id };
        if (found === 'unknown' && !post.text.startsWith(POSSIBLE_REPEAT)) {
          post = { ...post, text: POSSIBLE_REPEAT + post.text };
          await options.recordMarked(post);
        }
        inDoubt = false;
        await mayPost();
      }
      const { id } = await adapter.post(post.key, post.text, { ...where, signal: lost });
      return { outcome: 'posted', id };
    } catch (error) {
      if (!(error instanceof ChatError) || error.fault === 'refused') throw error;
      if (error.fault === 'unacceptable') return { outcome: 'refused' };
      if (error.fault === 'ambiguous') inDoubt = true;
      const pauseMs = pauseAfter(error, failures);
      options.onTrouble(error, pauseMs);
      await options.sleep(pauseMs);
    }
  }
}

/**
 * Asks the chat until it answers.
 * @throws ChatError `refused`, and what `sleep` throws.
 */
export async function untilAnswered<T>(
  ask: () => Promise<T>,
  { sleep, onTrouble }: Pick<DeliverOptions, 'sleep' | 'onTrouble'>,
): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ChatError) || error.fault === 'refused') throw error;
      const pauseMs = pauseAfter(error, failures);
      onTrouble(error, pauseMs);
      await sleep(pauseMs);
    }
  }
}

/** What the service asks for, and a little more; else longer and longer. */
export function pauseAfter({ retryAfterMs }: ChatError, failures: number): number {
  if (retryAfterMs !== undefined) return Math.min(retryAfterMs, LONGEST_HINT_MS) + Math.random() * 100;
  return jittered(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures, 10)));
}
