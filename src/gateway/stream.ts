import type { Feed, FeedEvent } from './feed.ts';

/** One write to a client holds about so many bytes; a slow one is given no more until it has taken them. */
const CHUNK_BYTES = 64 * 1024;
const PAGE_EVENTS = 100;
const encoder = new TextEncoder();
/** What a client that lost its stream waits, in milliseconds. */
const RETRY_MS = 1_000;

/** Why a stream has ended, as its client is sent it; `closed`: by the client itself. */
export type StreamEnd = 'closing' | 'revoked' | 'slow' | 'closed';

export interface StreamOptions {
  readonly feed: Feed;
  readonly agents: ReadonlySet<string>;
  /** The last number that the client has. */
  readonly after: number;
  /** What an event is on the wire. Default: its own frame, made once for all streams. */
  readonly frameOf?: ((event: FeedEvent) => Uint8Array) | undefined;
  readonly onSent: (events: number) => void;
  readonly onEnd: (end: StreamEnd) => void;
  /** Cuts the connection, where whoever serves it can. */
  readonly cut?: (() => void) | undefined;
}

/**
 * One client's server-sent events. It has no queue: what it is behind is in the feed, which all share, and it is given more
 * only when it has taken what there was. One that falls behind what is kept is sent a gap.
 */
export class EventStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #options: StreamOptions;
  readonly #ended = new AbortController();
  #after: number;
  /** Up to where the client was sent all that is for it. */
  #sentTo: number;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** `performance.now()` when it last took something. */
  #tookAt = performance.now();

  constructor(options: StreamOptions) {
    this.#options = options;
    this.#after = options.after;
    this.#sentTo = options.after;
    this.body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
        controller.enqueue(
          encoder.encode(`retry: ${RETRY_MS}\nid: ${this.#after}\nevent: ready\ndata: {"next":${this.#after}}\n\n`),
        );
      },
      pull: async (controller) => {
        this.#tookAt = performance.now();
        const chunk = await this.#next();
        if (!chunk || this.#ended.signal.aborted) return;
        controller.enqueue(chunk);
        this.#sentTo = this.#after;
      },
      cancel: () => this.#finish('closed'),
    });
  }

  /** Sends a heartbeat with the number to resume at; ends it where its client has taken nothing for `stallMs`. */
  beat(stallMs: number): void {
    const controller = this.#controller;
    if (!controller || this.#ended.signal.aborted) return;
    if ((controller.desiredSize ?? 0) > 0) return controller.enqueue(encoder.encode(`id: ${this.#sentTo}\n\n`));
    if (performance.now() - this.#tookAt < stallMs) return;
    // It takes nothing, so nothing can be sent: its connection is cut, and it resumes where it was.
    this.#finish('slow');
    const { cut = () => controller.error(new Error('the client of this stream does not read it')) } = this.#options;
    cut();
  }

  /** Ends it in order: the client is sent where to go on. */
  end(reason: 'closing' | 'revoked'): void {
    const controller = this.#controller;
    if (!controller || this.#ended.signal.aborted) return;
    this.#finish(reason);
    controller.enqueue(encoder.encode(`event: end\ndata: {"reason":"${reason}","next":${this.#sentTo}}\n\n`));
    controller.close();
  }

  /** What the client is sent next; nothing where the stream ends first. */
  async #next(): Promise<Uint8Array | undefined> {
    const { feed, agents, onSent, frameOf = ({ frame }) => frame } = this.#options;
    const { signal } = this.#ended;
    for (; !signal.aborted; await feed.changed(signal)) {
      const page = feed.read(this.#after, agents, PAGE_EVENTS);
      if (page.truncated || feed.head < this.#after)
        return this.#gap(page.events[0] ? page.events[0].seq - 1 : feed.head);
      const frames: Uint8Array[] = [];
      let bytes = 0;
      for (const event of page.events) {
        const frame = frameOf(event);
        if (bytes > 0 && bytes + frame.length > CHUNK_BYTES) break;
        frames.push(frame);
        bytes += frame.length;
        this.#after = event.seq;
      }
      if (frames.length === page.events.length) this.#after = page.next;
      if (frames.length === 0) {
        this.#sentTo = this.#after;
        continue;
      }
      onSent(frames.length);
      return frames.length === 1 ? frames[0] : Buffer.concat(frames);
    }
    return undefined;
  }

  #gap(next: number): Uint8Array {
    this.#after = next;
    return encoder.encode(`id: ${next}\nevent: gap\ndata: {"next":${next}}\n\n`);
  }

  #finish(end: StreamEnd): void {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort();
    this.#options.onEnd(end);
  }
}
