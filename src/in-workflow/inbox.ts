import * as wf from '@temporalio/workflow';
import { MARK_LENGTH, markOf } from '../envelope/address.ts';
import { envelopeLike, type Envelope } from '../envelope/envelope.ts';

const replySignal = wf.defineSignal<[unknown]>('synod.reply');

/** Ids of envelopes that were heard, so that a repeat is dropped. Repeats follow the original closely. */
const MAX_SEEN = 1_000;

type Listener = (envelope: Envelope) => void;

/** What the primitives tell this workflow: one handler for all, told apart by who speaks. */
export class Inbox {
  /** By the mark with which a primitive's ids begin. */
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #seen = new Set<string>();

  /**
   * Calls back with what one primitive says from now on, perhaps twice. Whoever asks listens first and then asks, so no answer comes too early;
   * one that nobody listens to any more is dropped.
   * @returns a function that ends it.
   */
  listen(workflowId: string, listener: Listener): () => void {
    const mark = markOf(workflowId);
    const listeners = this.#listeners.get(mark) ?? new Set();
    this.#listeners.set(mark, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(mark);
    };
  }

  /** Takes in a signal: at least once, in order. */
  receive(raw: unknown): void {
    const { data: envelope } = envelopeLike.safeParse(raw);
    if (typeof envelope?.id !== 'string' || this.#seen.has(envelope.id)) return;
    this.#seen.add(envelope.id);
    if (this.#seen.size > MAX_SEEN) for (const oldest of this.#seen.keys()) if (this.#seen.delete(oldest)) break;
    this.#tell(envelope.id.slice(0, MARK_LENGTH), envelope);
  }

  /** Takes in the replies to a request, which may have come by signal before. */
  hear(workflowId: string, replies: readonly Envelope[]): void {
    for (const envelope of replies) this.#tell(markOf(workflowId), envelope);
  }

  #tell(mark: string, envelope: Envelope): void {
    for (const listener of this.#listeners.get(mark) ?? []) listener(envelope);
  }
}

let opened: Inbox | undefined;

/** The inbox of this workflow. The sandbox gives each workflow its own modules, and so its own inbox. */
export function inbox(): Inbox {
  if (opened) return opened;
  const created = new Inbox();
  wf.setHandler(replySignal, (envelope) => created.receive(envelope), {
    description: 'What a primitive of Synod has to say to this workflow: one envelope.',
  });
  opened = created;
  return created;
}
