import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { checked } from '../client/messages/compose.ts';
import { SharedConnection } from '../client/connection/sharedConnection.ts';
import { roomTarget } from '../envelope/targets.ts';
import { jittered, parting, pause } from '../client/timing/timing.ts';
import { DEFAULT_TASK_QUEUE } from '../envelope/address.ts';
import { MAX_POST_TEXT, type BridgePlace, type DoubtfulPost } from '../envelope/bridge.ts';
import { EVERYONE } from '../envelope/calls.ts';
import { ChatError, type ChatAdapter, type ChatMessage } from './adapter.ts';
import { deliver, POSSIBLE_REPEAT, type CourierOptions } from './courier.ts';
import { hashOf, postKey } from './key.ts';
import { Ledger, PlaceLost } from './ledger.ts';
import { listen } from './listen.ts';
import { Outbox, OUTBOX_CAPACITY, POST_INTERVAL_MS } from './outbox.ts';
import { Hearing } from './people/hearing.ts';
import type { People } from './people/list.ts';
import { split } from './split.ts';
import { answerText } from './text.ts';
import { Turn } from './turn.ts';

const roomView = z.object({ log: z.object({ head: z.number() }) });

/** How long a bridge that is stopped may take to end in order, in milliseconds: as long as a chat may take to answer. */
const STOP_MS = 20_000;

/** Options of {@link runBridge}. */
export interface BridgeOptions {
  readonly client: Client;
  readonly room: string;
  readonly adapter: ChatAdapter;
  /** Default `synod`. */
  readonly taskQueue?: string;
  /** Milliseconds between two posts that tell of the same agent; default 5,000. 0: one post an entry, at once. */
  readonly intervalMs?: number;
  /** After so many seconds of silence another bridge may take over; default 15, at most 300. */
  readonly leaseSeconds?: number;
  /** Entries that wait for a chat which cannot be reached; the oldest beyond that are left out, and it is said. Default 1,000. */
  readonly capacity?: number;
  /** Where the first bridge of this chat begins: at the start of what the room keeps (default), or now. Later ones go on. */
  readonly begin?: 'start' | 'now';
  /** What a person wrote in the chat: at least once, in order; what it throws ends the bridge. Without it nothing is read. */
  readonly onMessage?: (message: ChatMessage) => Promise<void>;
  /** Who may speak and act in the room from the chat, and as whom. Without it nobody may. */
  readonly people?: People;
  /** What happens to the bridge, in sentences. */
  readonly onNote?: (note: string) => void;
  /** It posts, or stands by because another bridge does. */
  readonly onReady?: () => void;
}

/**
 * Mirrors a room to a chat until `stop` fires: every entry for people, in order, once; repeated only where it is not to be
 * found out whether a post has arrived, and then marked. Several may run for one chat: one posts, the others stand by.
 * It ends at most 20 seconds after `stop`, also where the server is away.
 * @throws ChatError `refused` where the chat refuses the bridge: a wrong token, no right to write in the room.
 */
export async function runBridge(options: BridgeOptions, stop: AbortSignal): Promise<void> {
  await parting(stop, async () => await new Bridge(options, stop).run(), STOP_MS);
}

class Bridge {
  readonly #options: BridgeOptions;
  readonly #stop: AbortSignal;
  readonly #connection: SharedConnection;
  readonly #ledger: Ledger;
  readonly #leaseSeconds: number;
  readonly #hearing: Hearing | undefined;

  constructor(options: BridgeOptions, stop: AbortSignal) {
    this.#options = options;
    this.#stop = stop;
    const { client, room, adapter, taskQueue = DEFAULT_TASK_QUEUE, leaseSeconds = 15 } = options;
    this.#connection = SharedConnection.of(client, taskQueue);
    this.#leaseSeconds = leaseSeconds;
    const chat = `${adapter.name}:${adapter.target}`;
    this.#ledger = new Ledger(this.#connection, checked('room', room), chat, `bridge:${randomUUID()}`);
    this.#hearing =
      options.people &&
      new Hearing({
        client,
        taskQueue,
        connection: this.#connection,
        room,
        chat,
        people: options.people,
        onNote: (note) => this.#note(note),
      });
  }

  async run(): Promise<void> {
    await this.#reachChat();
    this.#options.onReady?.();
    for (let standsBy = false; !this.#stop.aborted;) {
      const place = await this.#ledger.take(this.#leaseSeconds, await this.#beginning());
      if (place) {
        standsBy = false;
        this.#note(`posts to ${this.#ledger.chat}, after entry ${place.after}`);
        await this.#asPoster(place);
      } else {
        if (!standsBy) this.#note(`another bridge posts to ${this.#ledger.chat}: standing by`);
        standsBy = true;
        await pause(jittered((this.#leaseSeconds * 1000) / 5), this.#stop);
      }
    }
  }

  /** Whether the token is good is asked first; a chat that is down is waited for by whoever posts. */
  async #reachChat(): Promise<void> {
    try {
      await this.#options.adapter.identity(this.#stop);
    } catch (error) {
      if (!(error instanceof ChatError) || error.fault === 'refused') throw error;
      this.#note(error.message);
    }
  }

  async #beginning(): Promise<number> {
    if (this.#options.begin !== 'now') return 0;
    const view = await this.#connection.view(roomTarget(this.#options.room).workflowId, undefined, this.#stop);
    return view ? roomView.parse(view).log.head : 0;
  }

  /** Posts until the place is lost or the bridge is stopped. */
  async #asPoster(place: BridgePlace): Promise<void> {
    const lost = new AbortController();
    const turn = new Turn(place);
    const renewing = this.#keepRenewing(lost);
    const hearing = this.#keepHearing(place, lost);
    try {
      await this.#post(turn, lost.signal);
    } catch (error) {
      if (!(error instanceof PlaceLost) && !this.#stop.aborted) throw lost.signal.aborted ? lost.signal.reason : error;
      if (error instanceof PlaceLost) this.#note(`${error.message}; another bridge goes on`);
    } finally {
      lost.abort();
      await Promise.all([renewing, hearing]);
    }
    if (this.#stop.aborted) await this.#ledger.release().catch(ignorePlaceLost);
  }

  async #post(turn: Turn, lost: AbortSignal): Promise<void> {
    if (turn.place.doubt) await this.#finish(turn, turn.place.doubt, true, lost);
    const { intervalMs = POST_INTERVAL_MS, capacity = OUTBOX_CAPACITY } = this.#options;
    const outbox = new Outbox(turn.after, {
      intervalMs,
      capacity,
      fits: this.#fits,
      knows: (envelope) => this.#hearing?.stoodInChat(envelope) ?? false,
    });
    const reader = this.#connection.readerOf(roomTarget(this.#options.room).workflowId);
    const onEvent: Parameters<typeof reader.listen>[0]['onEvent'] = (event) => {
      outbox.add(event);
      turn.wake();
    };
    // What is no longer kept shows as a gap in the numbers.
    const unlisten = reader.listen({ agent: EVERYONE, onEvent, onGap: () => undefined }, turn.after);
    try {
      while (!this.#stop.aborted) {
        lost.throwIfAborted();
        const next = outbox.next(performance.now());
        if (next.kind !== 'post') {
          const ends = AbortSignal.any([lost, this.#stop]);
          const came = await turn.news(next.kind === 'wait' ? next.ms : this.#renewMs, ends);
          if (!came && next.kind === 'empty') await this.#pass(turn, outbox.seen);
          continue;
        }
        await this.#tell(turn, next.text, next.last, lost);
        outbox.told(next.agents, performance.now());
      }
    } finally {
      unlisten();
    }
  }

  /** Tells one text, in as many posts as it needs; goes on in the middle where an earlier bridge has stopped there. */
  async #tell(turn: Turn, text: string, last: number, lost: AbortSignal): Promise<void> {
    const { adapter } = this.#options;
    const whole = hashOf(text);
    const said = turn.interrupts(whole) ? POSSIBLE_REPEAT + text : text;
    const parts = split(said, this.#fits).map((part) => adapter.escape(part.text));
    for (let part = turn.partOf(whole, parts.length); part < parts.length && !this.#stop.aborted; part++) {
      const post: DoubtfulPost = {
        key: postKey(this.#options.room, this.#ledger.chat, last, part, whole),
        text: parts[part] ?? '',
        last,
        part,
        parts: parts.length,
        whole,
      };
      await this.#ledger.send(turn.after, post);
      await this.#finish(turn, post, false, lost);
    }
  }

  /** Brings a post that is written down to the chat, and writes down what became of it. */
  async #finish(turn: Turn, post: DoubtfulPost, doubted: boolean, lost: AbortSignal): Promise<void> {
    const settled = await deliver(post, doubted, {
      ...this.#courier(lost),
      ...(turn.lastId === undefined ? {} : { lastId: turn.lastId }),
      sayMarked: (marked) => this.#ledger.send(turn.after, marked),
    });
    if (settled.outcome === 'refused') this.#note(`${this.#ledger.chat} refuses entry ${post.last}: left out`);
    await this.#ledger.settle(post.key, settled);
    turn.settled(post, settled);
  }

  #courier(lost: AbortSignal): Omit<CourierOptions, 'sayMarked'> {
    const ends = AbortSignal.any([lost, this.#stop]);
    return {
      adapter: this.#options.adapter,
      lost,
      mayPost: async () => {
        ends.throwIfAborted();
        if (this.#ledger.validMs <= 0) await this.#ledger.renew();
      },
      sleep: async (ms) => {
        await pause(ms, ends);
        ends.throwIfAborted();
      },
      onTrouble: (error, ms) => this.#note(`${error.message}; again in ${(ms / 1000).toFixed(1)} s`),
    };
  }

  /**
   * Answers a message in its thread. The keys are the message's, so that one which is heard again is answered once.
   * @param doubted it may have been answered already.
   */
  async #answer({ id, thread = id }: ChatMessage, text: string, doubted: boolean, lost: AbortSignal): Promise<void> {
    const { adapter, room } = this.#options;
    const whole = hashOf(`answer to ${id}`);
    const texts = split(answerText(text), this.#fits).map((part) => adapter.escape(part.text));
    for (const [part, said] of texts.entries()) {
      const key = postKey(room, this.#ledger.chat, 0, part, whole);
      const post = { key, text: said, last: 0, part, parts: texts.length, whole };
      // A mark needs no ledger: whoever hears the message again looks for the answer again.
      const sayMarked = async (): Promise<void> => undefined;
      const settled = await deliver(post, doubted, { ...this.#courier(lost), thread, lastId: id, sayMarked });
      if (settled.outcome === 'refused') this.#note(`${this.#ledger.chat} refuses an answer: left out`);
    }
  }

  /** Moves the cursor over entries that were not for people, so that nobody reads them again. */
  async #pass(turn: Turn, seen: number): Promise<void> {
    if (seen <= turn.after) return;
    await this.#ledger.renew({ cursor: seen });
    turn.after = seen;
  }

  /** Says in time that this bridge is still there, whatever else it waits for. */
  async #keepRenewing(lost: AbortController): Promise<void> {
    const ends = AbortSignal.any([lost.signal, this.#stop]);
    while (await pause(this.#renewMs, ends)) {
      try {
        await this.#ledger.renew();
      } catch (error) {
        return lost.abort(error);
      }
    }
  }

  /** Without anybody who listens nothing is read. */
  async #keepHearing({ heard: from }: BridgePlace, lost: AbortController): Promise<void> {
    const { adapter, onMessage } = this.#options;
    if (!onMessage && !this.#hearing) return;
    const hear = (message: ChatMessage, again: boolean) => this.#hear(message, again, lost.signal);
    await listen({ adapter, ledger: this.#ledger, from, hear, stop: this.#stop }, lost);
  }

  async #hear(message: ChatMessage, again: boolean, lost: AbortSignal): Promise<void> {
    const answer = await this.#hearing?.hear(message);
    if (answer !== undefined) await this.#answer(message, answer, again, lost);
    await this.#options.onMessage?.(message);
  }

  get #renewMs(): number {
    return (this.#leaseSeconds * 1000) / 3;
  }

  /** Whether a text, escaped and marked as a repeat, is one post. */
  readonly #fits = (text: string): boolean => {
    const { adapter } = this.#options;
    const { limits } = adapter;
    const escaped = POSSIBLE_REPEAT + adapter.escape(text);
    if (escaped.length > Math.min(limits.characters, MAX_POST_TEXT)) return false;
    return limits.bytes === undefined || Buffer.byteLength(escaped) <= limits.bytes;
  };

  #note(note: string): void {
    this.#options.onNote?.(note);
  }
}

function ignorePlaceLost(error: unknown): void {
  if (!(error instanceof PlaceLost)) throw error;
}
