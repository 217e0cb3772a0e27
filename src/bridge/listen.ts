import { setTimeout as delay } from 'node:timers/promises';
import { ChatError, type ChatAdapter, type ChatMessage, type ChatPace } from './adapter.ts';
import { pauseAfter } from './deliver.ts';
import type { Ledger } from './ledger.ts';

/** The first pause before the next read of a chat where nobody writes, in milliseconds; it doubles with each read. */
const QUIET_PAUSE_MS = 1_000;

export interface ListenOptions {
  readonly adapter: ChatAdapter;
  readonly ledger: Pick<Ledger, 'renew'>;
  /** How far the chat has been read. */
  readonly from: string | undefined;
  /** What a message does, at least once, in order. `again`: the bridge before may have come so far. */
  readonly receive: (message: ChatMessage, again: boolean) => Promise<void>;
  /** Called once, when it is fixed from where on the chat is read: what is written from now on is not lost. */
  readonly onFixed?: () => void;
  readonly stop: AbortSignal;
  /** Waits, or returns early where the signal fires; for tests. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Reads what people write, from where it was read to, and hands it on; what ends it for good, ends the place as well. */
export async function listen(options: ListenOptions, lost: AbortController): Promise<void> {
  const { adapter, ledger, receive, stop, sleep = pause, onFixed = () => undefined } = options;
  const ends = AbortSignal.any([lost.signal, stop]);
  let readTo = options.from;
  if (readTo !== undefined) onFixed();
  for (let failures = 0, quiet = 0, again = true; !ends.aborted;) {
    try {
      const { messages, cursor } = await adapter.readForward(readTo, ends);
      for (const message of messages) await receive(message, again);
      again = false;
      const first = readTo === undefined;
      const news = first || messages.length > 0;
      readTo = cursor;
      if (news) await ledger.renew({ heard: readTo });
      if (first) onFixed();
      quiet = news ? 0 : quiet + 1;
      failures = 0;
      await sleep(pauseBefore(adapter.pace, quiet), ends);
    } catch (error) {
      if (ends.aborted) return;
      if (!(error instanceof ChatError) || error.fault === 'refused') return lost.abort(error);
      await sleep(pauseAfter(error, failures++), ends);
    }
  }
}

/** The pause before the next read, after so many that brought nothing. */
function pauseBefore({ busy, quiet: most }: ChatPace, reads: number): number {
  if (reads === 0) return busy;
  return Math.min(most, Math.max(busy, QUIET_PAUSE_MS) * 2 ** Math.min(reads - 1, 10));
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}
