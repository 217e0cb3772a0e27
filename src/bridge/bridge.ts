import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { checked } from '../client/messages/compose.ts';
import { SharedConnection } from '../client/connection/sharedConnection.ts';
import { isolated } from '../client/isolated.ts';
import { jittered, withGrace, pause } from '../client/timing/timing.ts';
import { messageOf } from '../dev/log.ts';
import { DEFAULT_TASK_QUEUE } from '../envelope/address.ts';
import type { BridgePlace } from '../envelope/bridge.ts';
import { roomTarget } from '../envelope/targets.ts';
import { ChatError, type ChatMessage } from './adapter.ts';
import { begin } from './begin.ts';
import { Ledger, PlaceLost } from './ledger.ts';
import { listen } from './listen.ts';
import type { BridgeOptions } from './options.ts';
import { Incoming } from './people/incoming.ts';
import { Poster } from './poster.ts';

const roomView = z.object({ log: z.object({ head: z.number() }) });

/** How long a bridge that is stopped may take to end in order, in milliseconds: as long as a chat may take to answer. */
const STOP_MS = 20_000;

/**
 * Mirrors a room to a chat until `stop` fires: every entry for people, in order, once; repeated only where it is not to be
 * found out whether a post has arrived, and then marked. Several may run for one chat: one posts, the others stand by.
 * It ends at most 20 seconds after `stop`, also where the server is away.
 * @throws ChatError `refused` where the chat refuses the bridge: a wrong token, no right to write in the room.
 */
export async function runBridge(options: BridgeOptions, stop: AbortSignal): Promise<void> {
  await withGrace(stop, async () => await new Bridge(options, stop).run(), STOP_MS);
}

class Bridge {
  readonly #options: BridgeOptions;
  readonly #stop: AbortSignal;
  readonly #connection: SharedConnection;
  readonly #ledger: Ledger;
  readonly #leaseSeconds: number;
  readonly #incoming: Incoming | undefined;
  readonly #note: (note: string) => void;
  #isReady = false;

  constructor(options: BridgeOptions, stop: AbortSignal) {
    this.#options = options;
    this.#stop = stop;
    this.#note = isolated('onNote', options.onNote);
    const { client, room, adapter, taskQueue = DEFAULT_TASK_QUEUE, leaseSeconds = 15, people } = options;
    this.#connection = SharedConnection.of(client, taskQueue);
    this.#leaseSeconds = leaseSeconds;
    const chat = `${adapter.name}:${adapter.target}`;
    this.#ledger = new Ledger(this.#connection, checked('room', room), chat, `bridge:${randomUUID()}`);
    const about = { client, taskQueue, connection: this.#connection, room, chat, onNote: this.#note };
    this.#incoming = people && new Incoming({ ...about, people });
  }

  async run(): Promise<void> {
    await this.#reachChat();
    for (let standsBy = false; !this.#stop.aborted;) {
      const place = await this.#ledger.take(this.#leaseSeconds, await this.#beginning());
      if (place) {
        standsBy = false;
        this.#note(`posts to ${this.#ledger.chat}, after entry ${place.after}`);
        await this.#asPoster(place);
      } else {
        if (!standsBy) this.#note(`another bridge posts to ${this.#ledger.chat}: standing by`);
        standsBy = true;
        this.#ready();
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
    return this.#options.begin === 'now' ? await this.#head() : 0;
  }

  /** The number of the last entry in the room's log; 0 where there is no room yet. */
  async #head(): Promise<number> {
    const view = await this.#connection.view(roomTarget(this.#options.room).workflowId, undefined, this.#stop);
    return view ? roomView.parse(view).log.head : 0;
  }

  #ready(): void {
    if (this.#isReady) return;
    this.#isReady = true;
    isolated('onReady', this.#options.onReady)();
  }

  /** Posts until the place is lost or the bridge is stopped. */
  async #asPoster(place: BridgePlace): Promise<void> {
    const lost = new AbortController();
    const poster = this.#posterUntil(lost.signal);
    const renewing = this.#keepRenewing(lost);
    let listening: Promise<void> | undefined;
    try {
      const begun = this.#begin(place, poster, lost.signal);
      const reading = new Promise<void>((resolve) => {
        listening = this.#keepListening(place, poster, lost, resolve);
      });
      // What is written from then on is read, and what is logged is posted.
      void Promise.all([begun, reading]).then(
        () => this.#ready(),
        () => undefined,
      );
      await poster.run(await begun);
    } catch (error) {
      if (!(error instanceof PlaceLost) && !this.#stop.aborted) throw lost.signal.aborted ? lost.signal.reason : error;
      if (error instanceof PlaceLost) this.#note(`${error.message}; another bridge goes on`);
    } finally {
      lost.abort();
      await Promise.all([renewing, listening]);
    }
    if (this.#stop.aborted) await this.#ledger.release().catch(ignorePlaceLost);
  }

  #posterUntil(lost: AbortSignal): Poster {
    const { room } = this.#options;
    return new Poster({
      bridge: this.#options,
      ledger: this.#ledger,
      reader: this.#connection.readerOf(roomTarget(room).workflowId),
      renewMs: this.#renewMs,
      knows: (envelope) => this.#incoming?.isFromChat(envelope) ?? false,
      note: this.#note,
      stop: this.#stop,
      lost,
    });
  }

  async #begin(place: BridgePlace, { trying }: Poster, lost: AbortSignal): Promise<BridgePlace> {
    const { adapter, lostLedger = 'mark' } = this.#options;
    const head = async () => await this.#head();
    return await begin(place, {
      ...trying,
      adapter,
      ledger: this.#ledger,
      lostLedger,
      head,
      note: this.#note,
      lost: AbortSignal.any([lost, this.#stop]),
    });
  }

  /** Renews the place in time, whatever else this bridge waits for. */
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

  /**
   * Without anybody who wants it nothing is read.
   * @param onFixed called when it is fixed from where on the chat is read.
   */
  async #keepListening(
    { heard: from }: BridgePlace,
    poster: Poster,
    lost: AbortController,
    onFixed: () => void,
  ): Promise<void> {
    const { adapter, onMessage } = this.#options;
    if (!onMessage && !this.#incoming) return onFixed();
    const receive = (message: ChatMessage, again: boolean) => this.#receive(message, poster, again);
    await listen({ adapter, ledger: this.#ledger, from, receive, onFixed, stop: this.#stop }, lost);
  }

  async #receive(message: ChatMessage, poster: Poster, again: boolean): Promise<void> {
    const answer = await this.#incoming?.receive(message);
    if (answer !== undefined) await poster.answer(message, answer, again);
    try {
      await this.#options.onMessage?.(message);
    } catch (error) {
      this.#note(`onMessage failed at message ${message.id}: ${messageOf(error)}; the next one comes`);
    }
  }

  get #renewMs(): number {
    return (this.#leaseSeconds * 1000) / 3;
  }
}

function ignorePlaceLost(error: unknown): void {
  if (!(error instanceof PlaceLost)) throw error;
}
