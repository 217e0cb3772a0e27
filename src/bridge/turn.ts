import { setTimeout as delay } from 'node:timers/promises';
import type { BridgePlace, DoubtfulPost } from '../envelope/bridge.ts';
import type { Settled } from './ledger.ts';

/** Where the poster is in the room's log, from the time that it takes its place until it loses it. */
export class Turn {
  readonly place: BridgePlace;
  /** The last entry that the ledger has as posted. */
  after: number;
  /** The chat's id of the last post that is known to be there. */
  lastId: string | undefined;
  #part: number;
  #whole: string;
  #wake: () => void = () => undefined;

  constructor(place: BridgePlace) {
    this.place = place;
    this.after = place.after;
    this.lastId = place.post_id;
    this.#part = place.part;
    this.#whole = place.whole;
  }

  /** Where to go on with a text: at the part that an earlier bridge did not get to, where it is that text. */
  partOf(whole: string, parts: number): number {
    return whole === this.#whole && this.#part < parts ? this.#part : 0;
  }

  /** Parts of another text have been posted in its place: that is no longer kept, or is joined otherwise by now. */
  interrupts(whole: string): boolean {
    return this.#part > 0 && whole !== this.#whole;
  }

  settled({ last, part, parts, whole }: DoubtfulPost, settled: Settled): void {
    if (settled.outcome === 'posted') this.lastId = settled.id;
    const more = part + 1 < parts;
    this.#part = more ? part + 1 : 0;
    this.#whole = more ? whole : '';
    if (!more) this.after = last;
  }

  /** An entry has come. */
  wake(): void {
    this.#wake();
  }

  /** Waits until an entry comes (true), or so many milliseconds have passed. */
  async news(ms: number, signal: AbortSignal): Promise<boolean> {
    const timer = new AbortController();
    const woken = new Promise<boolean>((resolve) => (this.#wake = () => resolve(true)));
    const ends = AbortSignal.any([timer.signal, signal]);
    const over = delay(ms, false, { signal: ends }).catch(() => false);
    const came = await Promise.race([woken, over]);
    timer.abort();
    return came;
  }
}
