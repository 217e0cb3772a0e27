import { ChatError, type ChatAdapter } from '../adapter.ts';
import { until } from '../../client/timing/timing.ts';
import { connectionFault } from '../http.ts';

/** Options of {@link consoleAdapter}. */
export interface ConsoleOptions {
  /** Where lines go; default stdout. */
  readonly out?: NodeJS.WritableStream;
  /** Names the ledger: two consoles of different names both print everything. Default `main`. */
  readonly name?: string;
}

/** Long enough for any text of a room; a terminal has no limit of its own. */
const MAX_CHARACTERS = 100_000;

/** Nothing is ever read there. */
const SILENT_MS = 60_000;

/**
 * A terminal or a log file as a chat: it prints, and nothing is read from it. A line that is written is there; what is not known to be
 * written cannot be looked for, so it is written again, marked.
 */
export function consoleAdapter({ out = process.stdout, name = 'main' }: ConsoleOptions = {}): ChatAdapter {
  let written = 0;
  return {
    name: 'console',
    target: name,
    limits: { characters: MAX_CHARACTERS },
    pace: { busy: SILENT_MS, quiet: SILENT_MS },
    escape: (text) => text,
    identity: () => Promise.resolve('console'),
    async post(_, text, { thread, signal } = {}) {
      if (text.length > MAX_CHARACTERS)
        throw new ChatError('unacceptable', `a line has at most ${MAX_CHARACTERS} characters`);
      const given = new Promise<void>((resolve, reject) => {
        const done = (error?: Error | null): void => (error ? reject(connectionFault(error)) : resolve());
        out.write(`${thread === undefined ? '' : `[${thread}] `}${text}\n`, done);
      });
      // A pipe that nobody reads is waited for: what is in it is not lost. It must not keep a bridge from ending.
      await (signal ? until(given, signal) : given);
      signal?.throwIfAborted();
      return { id: String((written += 1)) };
    },
    readBack: () => Promise.resolve('unknown'),
    readForward: () => Promise.resolve({ messages: [], cursor: '' }),
  };
}
