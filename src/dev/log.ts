/** Where a step says, in one line without a newline, what it is doing. */
export type Log = (line: string) => void;

/** The default log: one line on stderr, so that stdout stays free for results. */
export const logToStderr: Log = (line) => {
  process.stderr.write(`synod: ${line}\n`);
};

/**
 * Runs `step` and, while it is pending, logs `what` with the elapsed seconds.
 * @param everyMs how often to log, in milliseconds (default 5000)
 */
export async function withProgress<T>(log: Log, what: string, step: () => Promise<T>, everyMs = 5000): Promise<T> {
  const started = Date.now();
  const timer = setInterval(() => log(`${what} … ${Math.round((Date.now() - started) / 1000)} s`), everyMs);
  try {
    return await step();
  } finally {
    clearInterval(timer);
  }
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
