import type { LogEvent } from '../envelope/calls.ts';
import { SYNOD, type Envelope } from '../envelope/envelope.ts';
import { chatText, isForPeople } from './text.ts';

/** One post for each agent in so many milliseconds: "Discord Break Rooms for AI Agents", failure 2. */
export const POST_INTERVAL_MS = 5_000;
/** Entries that wait for a chat that cannot be reached: as many as a room keeps. */
export const OUTBOX_CAPACITY = 1_000;

export interface OutboxOptions {
  /** Milliseconds between two posts about the same agent; 0: each entry is posted alone, at once. */
  readonly intervalMs: number;
  readonly capacity: number;
  /** Whether a text is short enough for one post. */
  readonly fits: (text: string) => boolean;
  /** Whether an entry is in the chat already, and passed over. Default: none is. */
  readonly knows?: (envelope: Envelope) => boolean;
}

/** What is to be done next. */
export type Next =
  /** Post this text, of the entries from `first` to `last`. It may need several posts where it is one entry. */
  | {
      readonly kind: 'post';
      readonly text: string;
      readonly first: number;
      readonly last: number;
      readonly agents: readonly string[];
    }
  /** Ask again after so many milliseconds, or when an entry has come. */
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'empty' };

interface Entry {
  readonly last: number;
  readonly agent: string;
  readonly text: string;
  /** Entries that it stands for, where they were left out. */
  readonly leftOut: number;
}

/**
 * The entries of a room's log that wait to be posted, in order. What one agent sends faster than it may be posted is joined
 * with whatever comes meanwhile, and the order is kept. Past its capacity the oldest are left out, and a line says how many.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #postedAt = new Map<string, number>();
  #entries: Entry[] = [];
  #seen: number;

  /** @param after the last entry that has been posted. */
  constructor(after: number, options: OutboxOptions) {
    this.#seen = after;
    this.#options = options;
  }

  /** The last entry that was seen, posted or not. */
  get seen(): number {
    return this.#seen;
  }

  get size(): number {
    return this.#entries.length;
  }

  add(event: LogEvent): void {
    const { seq, envelope } = event;
    if (seq <= this.#seen) this.#push(seq, SYNOD, 'The log of this room begins anew.', 0);
    else if (seq > this.#seen + 1) this.#leaveOut(seq - 1, seq - 1 - this.#seen);
    this.#seen = seq;
    if (!isForPeople(event) || this.#options.knows?.(envelope)) return;
    this.#push(seq, envelope.from, chatText(event), 0);
    if (this.#entries.length > this.#options.capacity) this.#drop();
  }

  /** What to do at a time, in milliseconds of any clock. What it gives to post it does not give again. */
  next(now: number): Next {
    const [head] = this.#entries;
    if (!head) return { kind: 'empty' };
    const run = this.#run();
    const readyAt = Math.max(
      ...run.map(({ agent }) => (this.#postedAt.get(agent) ?? -Infinity) + this.#options.intervalMs),
    );
    if (readyAt > now) return { kind: 'wait', ms: readyAt - now };
    this.#entries = this.#entries.slice(run.length);
    return {
      kind: 'post',
      text: run.map(({ text }) => text).join('\n'),
      first: head.last,
      last: run.at(-1)?.last ?? head.last,
      agents: [...new Set(run.map(({ agent }) => agent))],
    };
  }

  /** A post about these agents was sent, now. */
  posted(agents: readonly string[], now: number): void {
    for (const [agent, before] of this.#postedAt)
      if (before + this.#options.intervalMs <= now) this.#postedAt.delete(agent);
    for (const agent of agents) this.#postedAt.set(agent, now);
  }

  /** The entries of the next post: as many as go into one, at least one. */
  #run(): readonly Entry[] {
    if (this.#options.intervalMs === 0) return this.#entries.slice(0, 1);
    let text = '';
    const end = this.#entries.findIndex((entry, i) => {
      text = i === 0 ? entry.text : `${text}\n${entry.text}`;
      return i > 0 && !this.#options.fits(text);
    });
    return end < 0 ? this.#entries : this.#entries.slice(0, end);
  }

  #push(last: number, agent: string, text: string, leftOut: number): void {
    this.#entries.push({ last, agent, text, leftOut });
  }

  #leaveOut(last: number, count: number): void {
    this.#push(last, SYNOD, lineOf(count), count);
  }

  /** Leaves out the two oldest, or the oldest that are not left out already, as one line. */
  #drop(): void {
    const [first, second, ...rest] = this.#entries;
    if (!first || !second) return;
    const count = (first.leftOut || 1) + (second.leftOut || 1);
    this.#entries = [{ last: second.last, agent: SYNOD, text: lineOf(count), leftOut: count }, ...rest];
  }
}

function lineOf(count: number): string {
  return `… ${count} ${count === 1 ? 'entry is' : 'entries are'} left out here: the chat fell behind.`;
}
