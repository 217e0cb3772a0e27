import { setTimeout as delay } from 'node:timers/promises';
import { ChatError, type ChatAdapter, type ChatMessage } from './adapter.ts';
import { pauseAfter } from './courier.ts';
import type { Ledger } from './ledger.ts';

/** Between two looks into a chat where nobody writes. */
const LISTEN_PAUSE_MS = 1_000;

export interface ListenOptions {
  readonly adapter: ChatAdapter;
  readonly ledger: Ledger;
  /** How far the chat has been read. */
  readonly from: string | undefined;
  /** What a message does, at least once, in order. `again`: the bridge before may have come so far. */
  readonly hear: (message: ChatMessage, again: boolean) => Promise<void>;
  readonly stop: AbortSignal;
}

/** Reads what people write, from where it was read to, and hands it on; what ends it for good, ends the place as well. */
export async function listen(options: ListenOptions, lost: AbortController): Promise<void> {
  const { adapter, ledger, hear, stop } = options;
  const ends = AbortSignal.any([lost.signal, stop]);
  let heard = options.from;
  for (let failures = 0, again = true; !ends.aborted;) {
    try {
      const { messages, cursor } = await adapter.readForward(heard, ends);
      for (const message of messages) await hear(message, again);
      again = false;
      const news = heard === undefined || messages.length > 0;
      heard = cursor;
      if (news) await ledger.renew({ heard });
      else await sleep(LISTEN_PAUSE_MS, ends);
      failures = 0;
    } catch (error) {
      if (ends.aborted) return;
      if (!(error instanceof ChatError) || error.fault === 'refused') return lost.abort(error);
      await sleep(pauseAfter(error, failures++), ends);
    }
  }
}

async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}
