import { z } from 'zod';
import type { SharedConnection } from '../client/connection/sharedConnection.ts';
import { accepted } from '../client/messages/answers.ts';
import { compose } from '../client/messages/compose.ts';
import { ledgerTarget } from '../envelope/targets.ts';
import {
  bridgeMessages,
  bridgePlace,
  type BridgeMessage,
  type BridgePlace,
  type DoubtfulPost,
} from '../envelope/bridge.ts';
import type { Envelope } from '../envelope/envelope.ts';
import { SynodError } from '../envelope/refusal.ts';

/** How a post ended that was in doubt. */
export type Settled = { readonly outcome: 'posted'; readonly id: string } | { readonly outcome: 'refused' };

const taken = z.object({ epoch: z.number(), lease_seconds: z.number(), place: bridgePlace });

type Renewal = z.input<(typeof bridgeMessages)['bridge.renew']>;

/** Another bridge has taken the chat over: nothing may be posted any more. */
export class PlaceLost extends Error {
  override readonly name = 'PlaceLost';
}

/**
 * The durable ledger of one chat as one bridge keeps it: its workflow holds where the chat is and what is in doubt, and lets
 * one bridge post at a time. Calls are repeated until they get through.
 */
export class Ledger {
  readonly room: string;
  /** The chat's name in the ledger's address, e.g. `matrix:!abc:example.org`. */
  readonly chat: string;
  readonly #connection: SharedConnection;
  readonly #id: string;
  #epoch = 0;
  #leaseMs = 0;
  /** By `performance.now()`; reckoned from before the call, so that it ends here before it ends there. */
  #validUntil = Number.NEGATIVE_INFINITY;

  /** @param id this bridge, as an agent. */
  constructor(connection: SharedConnection, room: string, chat: string, id: string) {
    this.#connection = connection;
    this.room = room;
    this.chat = chat;
    this.#id = id;
  }

  /** Milliseconds for which nobody else can have taken over; 0 and below: not known. */
  get validMs(): number {
    return this.#validUntil - performance.now();
  }

  /** Becomes the poster; undefined where another one is. `cursor` is where the first one ever begins. */
  async take(leaseSeconds: number, cursor: number): Promise<BridgePlace | undefined> {
    try {
      const reply = await this.#send('bridge.take', { lease_seconds: leaseSeconds, cursor });
      const { epoch, lease_seconds: seconds, place } = taken.parse(reply.envelope);
      this.#epoch = epoch;
      this.#leaseMs = seconds * 1000;
      this.#validUntil = reply.sentAt + this.#leaseMs;
      return place;
    } catch (error) {
      if (error instanceof SynodError && error.code === 'held') return undefined;
      throw error;
    }
  }

  async renew(news: Pick<Renewal, 'cursor' | 'heard' | 'doubtful_to'> = {}): Promise<void> {
    await this.#asPoster('bridge.renew', news);
  }

  /** Writes down what is about to be posted. */
  async send(after: number, post: DoubtfulPost): Promise<void> {
    await this.#asPoster('bridge.send', { after, ...post });
  }

  /** Writes down what became of it. */
  async settle(key: string, settled: Settled): Promise<void> {
    const { outcome } = settled;
    await this.#asPoster('bridge.settle', {
      key,
      outcome,
      ...(outcome === 'posted' ? { post_id: settled.id.slice(0, 300) } : {}),
    });
  }

  /** Lets another bridge post. */
  async release(): Promise<void> {
    await this.#asPoster('bridge.release', {});
  }

  async #asPoster(type: keyof typeof bridgeMessages, fields: object): Promise<void> {
    try {
      const { sentAt } = await this.#send(type, { epoch: this.#epoch, ...fields });
      this.#validUntil = Math.max(this.#validUntil, sentAt + this.#leaseMs);
    } catch (error) {
      if (error instanceof SynodError && (error.code === 'stale_epoch' || error.code === 'not_holder')) {
        this.#validUntil = Number.NEGATIVE_INFINITY;
        throw new PlaceLost(error.message, { cause: error });
      }
      throw error;
    }
  }

  async #send(type: keyof typeof bridgeMessages, fields: object): Promise<{ envelope: Envelope; sentAt: number }> {
    const sentAt = performance.now();
    const message = compose<BridgeMessage>(bridgeMessages[type], this.#id, { type, chat: this.chat, ...fields });
    const [envelope] = accepted(await this.#connection.send(ledgerTarget(this.room, this.chat), message));
    if (!envelope) throw new Error(`${type} got no answer`);
    return { envelope, sentAt };
  }
}
