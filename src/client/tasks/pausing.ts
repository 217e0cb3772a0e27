import { EventEmitter, once } from 'node:events';
import { z } from 'zod';
import type { LogEvent } from '../../envelope/calls.ts';

const boardPage = z.object({ paused: z.boolean() });

/** Whether a room is paused, as one process knows it: from its log as it comes, and from its board for what came before. */
export class Pausing {
  #paused = false;
  #events = 0;
  readonly #changes = new EventEmitter().setMaxListeners(0);

  get paused(): boolean {
    return this.#paused;
  }

  /** Takes notice of what the room's log says. */
  note({ envelope }: LogEvent): void {
    if (envelope.type !== 'room.pause' && envelope.type !== 'room.resume') return;
    this.#events += 1;
    this.#set(envelope.type === 'room.pause');
  }

  /** Asks for a page of the board and takes notice of it, unless the log has said something newer meanwhile. */
  async look<T>(view: () => Promise<T>): Promise<T> {
    const events = this.#events;
    const seen = await view();
    // No room yet: nothing is paused there. A page that cannot be read says nothing: it throws.
    if (seen === undefined) return seen;
    const { paused } = boardPage.parse(seen);
    if (events === this.#events) this.#set(paused);
    return seen;
  }

  /** Resolves when the room is not paused, or when the signal fires. */
  async over(signal: AbortSignal): Promise<void> {
    while (this.#paused && !signal.aborted) await once(this.#changes, 'resumed', { signal }).catch(() => undefined);
  }

  #set(paused: boolean): void {
    this.#paused = paused;
    if (!paused) this.#changes.emit('resumed');
  }
}
