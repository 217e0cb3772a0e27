import { isFor, type LogEvent, type Received } from '../envelope/calls.ts';
import { MAX_WAIT_SECONDS } from '../envelope/limits.ts';

/** A `receive` that waits for something to happen. */
export interface Wait {
  readonly reader: string | undefined;
  readonly agents: ReadonlySet<string>;
  /** Only these wake it; absent: all. */
  readonly types?: ReadonlySet<string> | undefined;
  readonly after: number;
  readonly limit: number;
  /** Epoch milliseconds at which it ends with nothing. */
  readonly until: number;
  readonly resolve: (received: Received) => void;
}

/** How a wait's answer is made: with the events there are, or with none and a pause. */
export type Answer = (wait: Wait, retryAfterSeconds?: number) => Received;

const MIN_RETRY_SECONDS = 0.2;
/** The pause grows with the root of the callers: so many calls a second come back in the end, however many callers there are. */
const RETRY_SECONDS_A_DISPLACEMENT = 0.05;
const DISPLACEMENT_MEMORY_MS = MAX_WAIT_SECONDS * 1000;

/** The waits held on a workflow. They live only within a run: draining ends them all. */
export class Waits {
  #waits: Wait[] = [];
  #displaced: number[] = [];
  readonly #answer: Answer;

  constructor(answer: Answer) {
    this.#answer = answer;
  }

  get count(): number {
    return this.#waits.length;
  }

  /** Holds a wait; ends the older one of the same reader, or the oldest where there are more than `max`. */
  add(wait: Wait, max: number, now: number): void {
    if (wait.reader !== undefined) this.#end((older) => older.reader === wait.reader, 0);
    this.#waits.push(wait);
    const excess = this.#waits.length - max;
    if (excess <= 0) return;
    const oldest = this.#waits.slice(0, excess);
    for (let i = 0; i < excess; i++) this.#displaced.push(now);
    this.#displaced = this.#displaced.filter((at) => at > now - DISPLACEMENT_MEMORY_MS);
    const pause = Math.min(
      MAX_WAIT_SECONDS,
      Math.max(MIN_RETRY_SECONDS, RETRY_SECONDS_A_DISPLACEMENT * this.#displaced.length),
    );
    this.#end((held) => oldest.includes(held), pause);
  }

  /** Answers the waits for which one of the new events is. */
  wake(events: readonly LogEvent[]): void {
    const woken = this.#waits.filter((wait) =>
      events.some(({ seq, envelope }) => seq > wait.after && isFor(envelope, wait.agents, wait.types)),
    );
    this.#finish(woken);
  }

  /** Answers the waits whose time is over. */
  expire(now: number): void {
    this.#finish(this.#waits.filter((wait) => wait.until <= now));
  }

  /** Ends all waits, with a pause before the next call. */
  drain(retryAfterSeconds: number): void {
    this.#end(() => true, retryAfterSeconds);
  }

  nextDeadline(): number | null {
    return this.#waits.length === 0 ? null : Math.min(...this.#waits.map((wait) => wait.until));
  }

  #finish(done: readonly Wait[]): void {
    if (done.length === 0) return;
    this.#waits = this.#waits.filter((wait) => !done.includes(wait));
    for (const wait of done) wait.resolve(this.#answer(wait));
  }

  #end(which: (wait: Wait) => boolean, retryAfterSeconds: number): void {
    const ended = this.#waits.filter(which);
    this.#waits = this.#waits.filter((wait) => !ended.includes(wait));
    for (const wait of ended) wait.resolve(this.#answer(wait, retryAfterSeconds));
  }
}
