import { z } from 'zod';

const answer = z.object({ to: z.string(), error: z.string().optional() });

/** The agent's side of the channel to the process that started it. */
export class ParentChannel {
  readonly #waiting = new Map<string, (error: string | undefined) => void>();

  constructor() {
    process.on('message', (message) => {
      const { to, error } = answer.parse(message);
      this.#waiting.get(to)?.(error);
      this.#waiting.delete(to);
    });
  }

  /** Sends the parent a message and waits for its answer; throws where that is a refusal. */
  async ask(message: { ask: string; kind: string; [field: string]: unknown }): Promise<void> {
    const error = await new Promise<string | undefined>((resolve) => {
      this.#waiting.set(message.ask, resolve);
      process.send?.(message);
    });
    if (error !== undefined) throw new Error(error);
  }
}

/** Fires when the parent ends this process, or is gone. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  process.once('SIGTERM', () => stop.abort());
  // The terminal's Ctrl-C reaches every process; the parent decides when this one ends.
  process.on('SIGINT', () => {});
  process.once('disconnect', () => stop.abort());
  return stop.signal;
}
