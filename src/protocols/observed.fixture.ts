import type { Base, Envelope } from '../envelope/envelope.ts';
import type { Host } from '../host/host.ts';

/** What must hold of every primitive, whatever comes in whatever order. */
export type CommonProperty =
  'every deadline progresses' | 'a repeat changes nothing' | 'nothing acknowledged is lost' | 'at most one outcome';

/** Reads only what is logged, not the state, and names the properties that it breaks. */
export interface Observer<Seen, Property extends string> {
  readonly nothing: Seen;
  /** What was known, an envelope of the log or a reply that was not logged, and when it came. */
  read(seen: Seen, envelope: Envelope, now: number): [Seen, Property[]];
  /** What is broken where nothing more happens now. */
  rest(seen: Seen, now: number): Property[];
}

/** A run that is observed while it lasts. */
export class Observed<S, M extends Base, Seen, Property extends string> {
  readonly host: Host<S, M>;
  readonly broken = new Set<Property | CommonProperty>();
  readonly #observer: Observer<Seen, Property>;
  /** The last entry of the log that was read. */
  cursor: number;
  seen: Seen;

  constructor(host: Host<S, M>, observer: Observer<Seen, Property>, seen: Seen = observer.nothing, cursor = 0) {
    this.host = host;
    this.#observer = observer;
    this.seen = seen;
    this.cursor = cursor;
  }

  /** Lets the timers fire that are due: none is due afterwards. */
  tick(now: number): void {
    this.host.tick(now);
    this.#follow(now);
    const next = this.host.nextDeadline();
    if (next && next.at <= now && this.host.phase(now) === 'running') this.broken.add('every deadline progresses');
    for (const property of this.#observer.rest(this.seen, now)) this.broken.add(property);
  }

  send(raw: unknown, now: number): Envelope[] {
    this.tick(now);
    const replies = this.host.request([raw], now).flat();
    this.#follow(now);
    for (const reply of replies) if (reply.seq === undefined) this.#note(reply, now);
    this.tick(now);
    return replies;
  }

  /** Sends again what was answered with `first`, as JSON. */
  repeat(raw: object, now: number, first: string = '[]'): void {
    this.tick(now);
    const before = this.#standing();
    const replies = this.host.request([{ ...raw, ts: 'again' }], now).flat();
    if (this.#standing() !== before) this.broken.add('a repeat changes nothing');
    // The first replies begin what a repeat is answered.
    if (!JSON.stringify(replies).startsWith(first.slice(0, -1))) this.broken.add('nothing acknowledged is lost');
    this.#follow(now);
  }

  #standing(): string {
    const { state, log, final } = this.host.snapshot();
    return JSON.stringify({ state, log, final });
  }

  #follow(now: number): void {
    const args = { agents: ['*'], after: this.cursor, wait_seconds: 0, limit: 200 };
    this.host.receive(args, now, ({ events, next }) => {
      this.cursor = next;
      for (const { envelope } of events) this.#note(envelope, now);
    });
  }

  #note(envelope: Envelope, now: number): void {
    const [seen, broken] = this.#observer.read(this.seen, envelope, now);
    this.seen = seen;
    for (const property of broken) this.broken.add(property);
  }
}
