import { pause } from '../client/timing/timing.ts';
import type { Reader } from '../client/connection/reader.ts';
import { MAX_POST_TEXT, type BridgePlace, type DoubtfulPost } from '../envelope/bridge.ts';
import { EVERYONE } from '../envelope/calls.ts';
import type { Envelope } from '../envelope/envelope.ts';
import type { ChatError, ChatMessage } from './adapter.ts';
import { deliver, POSSIBLE_REPEAT, type DeliverOptions } from './deliver.ts';
import { hashOf, postKey } from './key.ts';
import type { Ledger } from './ledger.ts';
import type { BridgeOptions } from './options.ts';
import { Outbox, OUTBOX_CAPACITY, POST_INTERVAL_MS } from './outbox.ts';
import { split } from './split.ts';
import { answerText } from './text.ts';
import { Turn } from './turn.ts';

/** What a {@link Poster} works with. */
export interface PosterOptions {
  readonly bridge: BridgeOptions;
  readonly ledger: Ledger;
  /** Reads the room's log. */
  readonly reader: Reader;
  readonly renewMs: number;
  /** Whether an entry is what somebody wrote in this chat. */
  readonly knows: (envelope: Envelope) => boolean;
  readonly note: (note: string) => void;
  readonly stop: AbortSignal;
  /** Fires when another bridge posts. */
  readonly lost: AbortSignal;
}

/** Posts to the chat for as long as this bridge has its place. */
export class Poster {
  readonly #options: PosterOptions;
  /** Fires when nothing is to be tried any more. */
  readonly #ends: AbortSignal;

  constructor(options: PosterOptions) {
    this.#options = options;
    this.#ends = AbortSignal.any([options.lost, options.stop]);
  }

  /** What calls to the chat share: they wait and end with this bridge. */
  get trying(): Pick<DeliverOptions, 'sleep' | 'onTrouble'> {
    return {
      sleep: async (ms) => {
        await pause(ms, this.#ends);
        this.#ends.throwIfAborted();
      },
      onTrouble: (error: ChatError, ms) => this.#options.note(`${error.message}; again in ${(ms / 1000).toFixed(1)} s`),
    };
  }

  /** Posts the room's log from `place` on, until the bridge is stopped; throws where the place is lost. */
  async run(place: BridgePlace): Promise<void> {
    const { bridge, reader, knows, lost, stop, renewMs } = this.#options;
    const turn = new Turn(place);
    if (place.doubt) await this.#finish(turn, place.doubt, true);
    const { intervalMs = POST_INTERVAL_MS, capacity = OUTBOX_CAPACITY } = bridge;
    const outbox = new Outbox(turn.after, { intervalMs, capacity, fits: this.#fits, knows });
    const onEvent: Parameters<Reader['listen']>[0]['onEvent'] = (event) => {
      outbox.add(event);
      turn.wake();
    };
    // What is no longer kept shows as a gap in the numbers.
    const unlisten = reader.listen({ agent: EVERYONE, onEvent, onGap: () => undefined }, turn.after);
    try {
      while (!stop.aborted) {
        lost.throwIfAborted();
        const next = outbox.next(performance.now());
        if (next.kind !== 'post') {
          const came = await turn.news(next.kind === 'wait' ? next.ms : renewMs, this.#ends);
          if (!came && next.kind === 'empty') await this.#pass(turn, outbox.seen);
          continue;
        }
        const doubtful = next.first <= (place.doubtful_to ?? 0);
        await this.#post(turn, next.text, next.last, doubtful);
        outbox.posted(next.agents, performance.now());
      }
    } finally {
      unlisten();
    }
  }

  /**
   * Answers a message in its thread. The keys are the message's, so that one which is read again is answered once.
   * @param doubted it may have been answered already.
   */
  async answer({ id, thread = id }: ChatMessage, text: string, doubted: boolean): Promise<void> {
    const { bridge, ledger, note } = this.#options;
    const { adapter, room } = bridge;
    const whole = hashOf(`answer to ${id}`);
    const texts = split(answerText(text), this.#fits).map((part) => adapter.escape(part.text));
    for (const [part, escaped] of texts.entries()) {
      const key = postKey(room, ledger.chat, 0, part, whole);
      const post = { key, text: escaped, last: 0, part, parts: texts.length, whole };
      // A mark needs no ledger: whoever reads the message again looks for the answer again.
      const recordMarked = async (): Promise<void> => undefined;
      const settled = await deliver(post, doubted, { ...this.#delivery, thread, lastId: id, recordMarked });
      if (settled.outcome === 'refused') note(`${ledger.chat} refuses an answer: left out`);
    }
  }

  /** Posts one text, in as many posts as it needs; goes on in the middle where an earlier bridge has stopped there. */
  async #post(turn: Turn, text: string, last: number, doubtful: boolean): Promise<void> {
    const { bridge, ledger, stop } = this.#options;
    const { adapter, room } = bridge;
    const whole = hashOf(text);
    const marked = doubtful || turn.interrupts(whole) ? POSSIBLE_REPEAT + text : text;
    const parts = split(marked, this.#fits).map((part) => adapter.escape(part.text));
    for (let part = turn.partOf(whole, parts.length); part < parts.length && !stop.aborted; part++) {
      const post: DoubtfulPost = {
        key: postKey(room, ledger.chat, last, part, whole),
        text: parts[part] ?? '',
        last,
        part,
        parts: parts.length,
        whole,
      };
      await ledger.send(turn.after, post);
      await this.#finish(turn, post, false);
    }
  }

  /** Brings a post that is written down to the chat, and writes down what became of it. */
  async #finish(turn: Turn, post: DoubtfulPost, doubted: boolean): Promise<void> {
    const { ledger, note } = this.#options;
    const settled = await deliver(post, doubted, {
      ...this.#delivery,
      ...(turn.lastId === undefined ? {} : { lastId: turn.lastId }),
      recordMarked: (marked) => ledger.send(turn.after, marked),
    });
    if (settled.outcome === 'refused') note(`${ledger.chat} refuses entry ${post.last}: left out`);
    await ledger.settle(post.key, settled);
    turn.settled(post, settled);
  }

  get #delivery(): Omit<DeliverOptions, 'recordMarked'> {
    const { bridge, ledger, lost } = this.#options;
    return {
      ...this.trying,
      adapter: bridge.adapter,
      lost,
      mayPost: async () => {
        this.#ends.throwIfAborted();
        if (ledger.validMs <= 0) await ledger.renew();
      },
    };
  }

  /** Moves the cursor over entries that were not for people, so that nobody reads them again. */
  async #pass(turn: Turn, seen: number): Promise<void> {
    if (seen <= turn.after) return;
    await this.#options.ledger.renew({ cursor: seen });
    turn.after = seen;
  }

  /** Whether a text, escaped and marked as a repeat, is one post. */
  readonly #fits = (text: string): boolean => {
    const { adapter } = this.#options.bridge;
    const { limits } = adapter;
    const escaped = POSSIBLE_REPEAT + adapter.escape(text);
    if (escaped.length > Math.min(limits.characters, MAX_POST_TEXT)) return false;
    return limits.bytes === undefined || Buffer.byteLength(escaped) <= limits.bytes;
  };
}
