import * as wf from '@temporalio/workflow';
import { MARK_LENGTH, markOf } from '../envelope/address.ts';
import { envelopeLike, type Envelope } from '../envelope/envelope.ts';

const replySignal = wf.defineSignal<[unknown]>('synod.reply');

/** Ids of received envelopes, so that a repeat is dropped. Repeats follow the original closely. */
const MAX_SEEN = 1_000;

type Listener = (envelope: Envelope) => void;

/** What the primitives send to this workflow: one signal handler for all of them, which passes envelopes on by their sender. */
export class Inbox {
  /** By the mark with which a primitive's ids begin. */
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #seen = new Set<string>();

  /**
   * Calls back with what one primitive sends from now on, perhaps twice. Whoever sends a request listens first, so that no answer comes
   * too early; an answer without a listener is dropped.
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
    this.#dispatch(envelope.id.slice(0, MARK_LENGTH), envelope);
  }

  /** Takes in the replies to a request, which may have come by signal before. */
  receiveReplies(workflowId: string, replies: readonly Envelope[]): void {
    for (const envelope of replies) this.#dispatch(markOf(workflowId), envelope);
  }

  #dispatch(mark: string, envelope: Envelope): void {
    for (const listener of this.#listeners.get(mark) ?? []) listener(envelope);
  }
}

let opened: Inbox | undefined;

/** The inbox of this workflow. The sandbox gives each workflow its own modules, and so its own inbox. */
export function inbox(): Inbox {
  if (opened) return opened;
  const created = new Inbox();
  wf.setHandler(replySignal, (envelope) => created.receive(envelope), {
    description: 'An envelope that a primitive of Synod sends to this workflow.',
  });
  opened = created;
  return created;
}
