import { z } from 'zod';
import type { LogEvent } from '../../envelope/calls.ts';
import { envelopeLike } from '../../envelope/envelope.ts';
import { SynodError } from '../../envelope/refusal.ts';
import { HubFault } from './hubFault.ts';
import { until } from '../timing/timing.ts';
import type { Page } from './transport.ts';

/** A hub says several times in this time, in milliseconds, that it is still there. */
const SILENCE_MS = 40_000;
/** A stream that nobody asks for what comes next is closed after so long, in milliseconds. */
const LINGER_MS = 1_000;
/** Events that wait to be asked for; with more of them nothing more is taken from the connection. */
const HIGH_WATER = 1_000;

const logEvent: z.ZodType<LogEvent> = z.object({ seq: z.number(), envelope: envelopeLike });
const gapData = z.object({ next: z.number() });

type Item = LogEvent | { readonly gapTo: number };

/** The server-sent events of one log, as pages. It opens its connection by itself, once; what ends that ends it. */
export class HubStream {
  /** The last number that was handed out. */
  after: number;
  readonly #ended = new AbortController();
  #items: Item[] = [];
  /** The last number that came, be it for somebody else. */
  #seen: number;
  #fault: unknown;
  #changed: () => void = () => undefined;
  #taken: () => void = () => undefined;
  #linger: NodeJS.Timeout | undefined;

  /** @param onClose called once. */
  constructor(after: number, open: (signal: AbortSignal) => Promise<Response>, onClose: () => void) {
    this.after = after;
    this.#seen = after;
    this.#ended.signal.addEventListener('abort', onClose, { once: true });
    void this.#read(open);
  }

  get closed(): boolean {
    return this.#ended.signal.aborted;
  }

  close(): void {
    clearTimeout(this.#linger);
    this.#ended.abort();
    this.#changed();
    this.#taken();
  }

  /**
   * What came after the last page; where there is nothing, waits for something.
   * @throws HubFault where the stream has ended, once all that came has been handed out.
   */
  async next({ limit, waitMs }: { limit: number; waitMs: number }, signal: AbortSignal): Promise<Page> {
    clearTimeout(this.#linger);
    try {
      if (this.#items.length === 0 && this.#fault === undefined) await this.#news(waitMs, signal);
      signal.throwIfAborted();
      return this.#page(limit);
    } finally {
      this.#linger = setTimeout(() => this.close(), LINGER_MS).unref();
    }
  }

  async #news(waitMs: number, signal: AbortSignal): Promise<void> {
    const came = new Promise<void>((resolve) => (this.#changed = resolve));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, waitMs)));
    await until(Promise.race([came, late]), signal);
    clearTimeout(timer);
  }

  #page(limit: number): Page {
    const [first] = this.#items;
    if (!first) {
      if (this.#fault !== undefined) throw this.#fault;
      this.after = this.#seen;
      return { events: [], next: this.after, truncated: false };
    }
    if ('gapTo' in first) {
      this.#items.shift();
      this.after = first.gapTo;
      return { events: [], next: this.after, truncated: true };
    }
    const events: LogEvent[] = [];
    for (const item of this.#items) {
      if ('gapTo' in item || events.length === limit) break;
      events.push(item);
    }
    this.#items = this.#items.slice(events.length);
    this.after = this.#items.length === 0 ? this.#seen : (events.at(-1)?.seq ?? this.after);
    this.#taken();
    return { events, next: this.after, truncated: false };
  }

  async #read(open: (signal: AbortSignal) => Promise<Response>): Promise<void> {
    const silent = setTimeout(() => this.#ended.abort(), SILENCE_MS);
    try {
      const { body } = await open(this.#ended.signal);
      if (!body) throw new HubFault('the hub opened no stream');
      const decoder = new TextDecoder();
      let rest = '';
      for await (const chunk of body as ReadableStream<Uint8Array>) {
        silent.refresh();
        const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) this.#take(block);
        if (this.#items.length > 0) this.#changed();
        if (this.#items.length >= HIGH_WATER) await new Promise<void>((resolve) => (this.#taken = resolve));
      }
      this.#fault = new HubFault('the stream of the hub has ended');
    } catch (cause) {
      const known = cause instanceof HubFault || cause instanceof SynodError;
      this.#fault = known ? cause : new HubFault('the stream of the hub has broken', { cause });
    } finally {
      clearTimeout(silent);
      this.#changed();
    }
  }

  #take(block: string): void {
    let [id, event, data] = ['', '', ''];
    for (const line of block.split('\n')) {
      if (line.startsWith('id: ')) id = line.slice(4);
      else if (line.startsWith('event: ')) event = line.slice(7);
      else if (line.startsWith('data: ')) data = line.slice(6);
    }
    if (event === 'gap') this.#items.push({ gapTo: gapData.parse(JSON.parse(data)).next });
    else if (event === '' && data !== '') this.#items.push(logEvent.parse(JSON.parse(data)));
    if (id !== '') this.#seen = Number(id);
  }
}
