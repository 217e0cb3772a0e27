import { EventEmitter, once } from 'node:events';
import { z } from 'zod';
import { envelopeLike } from '../../src/envelope/envelope.ts';

/** One server-sent event. */
export interface Sent {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: string;
}

const logEvent = z.object({ seq: z.number(), envelope: envelopeLike });

/** A client of a stream that reads with plain `fetch`. */
export class StreamClient {
  readonly sent: Sent[] = [];
  /** Comments: heartbeats. */
  heartbeats = 0;
  readonly status: number;
  readonly #received = new EventEmitter();
  readonly #abort: AbortController;
  /** Resolves when the stream has ended, to whether it ended in order. */
  readonly ended: Promise<boolean>;

  private constructor(response: Response, abort: AbortController) {
    this.status = response.status;
    this.#abort = abort;
    this.ended = this.#read(response).then(
      () => true,
      () => false,
    );
  }

  static async open(url: string, token: string, headers: Record<string, string> = {}): Promise<StreamClient> {
    const abort = new AbortController();
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${token}`, ...headers },
      signal: abort.signal,
    });
    return new StreamClient(response, abort);
  }

  /** Waits for an event that passes. */
  async waitFor(which: (sent: Sent) => boolean): Promise<Sent> {
    for (;;) {
      const found = this.sent.find(which);
      if (found) return found;
      await once(this.#received, 'news');
    }
  }

  /** Waits for a heartbeat beyond those there were. */
  async nextHeartbeat(): Promise<void> {
    for (const before = this.heartbeats; this.heartbeats === before;) await once(this.#received, 'news');
  }

  /** The events of the log that it received. */
  get events(): z.infer<typeof logEvent>[] {
    return this.sent.filter(({ event }) => event === 'message').map(({ data }) => logEvent.parse(JSON.parse(data)));
  }

  close(): void {
    this.#abort.abort();
  }

  async #read(response: Response): Promise<void> {
    let rest = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      rest += decoder.decode(chunk as Uint8Array, { stream: true });
      const blocks = rest.split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) this.#take(block);
      this.#received.emit('news');
    }
  }

  #take(block: string): void {
    const fields = new Map<string, string>();
    for (const line of block.split('\n')) {
      const at = line.indexOf(': ');
      if (at > 0) fields.set(line.slice(0, at), line.slice(at + 2));
    }
    const data = fields.get('data');
    // Where to resume, and nothing new: a sign of life.
    if (data === undefined) this.heartbeats += 1;
    else this.sent.push({ event: fields.get('event') ?? 'message', id: fields.get('id'), data });
  }
}
