import { z } from 'zod';
import { byName } from '../../envelope/byName.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import type { LockMessage } from '../../envelope/lock.ts';

// The rules a second time, as plainly as can be: lists that are searched from end to end.

/** What must hold of locks, whatever comes in whatever order. */
export type Property =
  | 'only what is compatible is held together'
  | 'the token only rises'
  | 'nobody is overtaken'
  | 'nobody is forgotten'
  | 'one terminal answer'
  | 'only the holder in time'
  | 'nothing ends early'
  | 'every deadline progresses'
  | 'a lease is counted from now'
  | 'a time-out costs all that is held'
  | 'the size is an upper bound';

export type Request = Extract<LockMessage, { type: 'lock.request' }>;

interface Hold {
  readonly id: string;
  readonly agent: string;
  readonly kind: string;
  readonly resources: readonly string[];
  readonly until: number;
  /** Lost; its rollback holds it. */
  readonly lost: boolean;
}

interface Waiter {
  readonly lock: string;
  readonly request: Request;
  readonly at: number;
  readonly until: number;
  readonly n: number;
}

const grant = z.object({ lock_id: z.string(), tokens: byName(z.number()), lease_expires_at: z.string() });
const text = z.string();
const TOGETHER = new Set(['read read', 'read write', 'write read', 'permit permit']);
const TERMINAL = new Set(['lock.granted', 'lock.denied', 'lock.cancelled']);

/** Follows the log of a lock manager and the replies that are not logged, and names the properties that they break. */
export class Observer {
  readonly broken = new Set<Property>();
  readonly permits: { readonly [resource: string]: number };
  readonly rollbackMs: number;
  holds: readonly Hold[] = [];
  waiters: readonly Waiter[] = [];
  readonly #requests = new Map<string, Request>();
  readonly #answered = new Set<string>();
  #token = 0;
  #count = 0;

  constructor(permits: { readonly [resource: string]: number }, rollbackMs: number) {
    this.permits = permits;
    this.rollbackMs = rollbackMs;
  }

  /** A message is about to be sent, under an id of its own. */
  sent(message: LockMessage): void {
    if (message.type === 'lock.request') this.#requests.set(message.id, message);
  }

  /** An envelope of `synod`; `to` is the message that it answers at once. */
  read(envelope: Envelope, now: number, to?: LockMessage): void {
    const request = this.#requests.get(envelope.in_reply_to ?? '');
    if (request && TERMINAL.has(envelope.type)) this.#terminal(request);
    switch (envelope.type) {
      case 'lock.granted':
        return request && this.#granted(envelope, request, now);
      case 'lock.queued':
        return request && this.#queued(text.parse(envelope['lock_id']), request, now);
      case 'lock.denied':
        return request && this.#denied(envelope, request, now);
      case 'lock.cancelled':
        return this.#cancelled(envelope, to);
      case 'lock.released':
      case 'lock.renewed':
        return to && this.#byHolder(envelope, now, to);
      case 'lock.expired':
        return this.#expired(envelope, now);
      // An operator may also end the time of a rollback.
      case 'lock.accepted':
        return to?.type === 'lock.force_release' ? this.rollbackEnded(to.lock_id) : undefined;
      default:
        return undefined;
    }
  }

  rollbackEnded(id: string): void {
    this.holds = this.holds.filter((hold) => !(hold.lost && hold.id === id));
  }

  /** All that must be true while nothing happens. */
  rest(now: number): void {
    this.#letGo(now);
    if (this.holds.some(({ until }) => until <= now) || this.waiters.some(({ until }) => until <= now))
      this.broken.add('every deadline progresses');
    if (this.waiters.some((waiter) => this.#mayHave(waiter.request, waiter) === undefined))
      this.broken.add('nobody is forgotten');
  }

  #letGo(now: number): void {
    this.holds = this.holds.filter(({ lost, until }) => !lost || until > now);
  }

  #terminal({ from, id, idempotency_key: key = id }: Request): void {
    const identity = `${from} ${key}`;
    if (this.#answered.has(identity)) this.broken.add('one terminal answer');
    this.#answered.add(identity);
  }

  /** Why a request may not be granted now, by the property that would be broken. */
  #mayHave(request: Request, self?: Waiter): Property | undefined {
    const { from, lock_type: kind } = request;
    for (const resource of request.resources) {
      const holds = this.holds.filter((hold) => hold.resources.includes(resource));
      const ahead = this.waiters.filter(
        (other) => other !== self && other.request.resources.includes(resource) && (!self || before(other, self)),
      );
      const permits = [...holds, ...ahead.map(({ request: { lock_type } }) => ({ kind: lock_type }))].filter(
        (each) => each.kind === 'permit',
      );
      const others = holds.filter(({ agent, lost }) => agent !== from || lost);
      if (others.some((hold) => !TOGETHER.has(`${hold.kind} ${kind}`)))
        return 'only what is compatible is held together';
      if (kind === 'permit' && holds.filter((hold) => hold.kind === kind).length >= (this.permits[resource] ?? 0))
        return 'only what is compatible is held together';
      if (ahead.some((other) => !TOGETHER.has(`${other.request.lock_type} ${kind}`))) return 'nobody is overtaken';
      if (kind === 'permit' && permits.length >= (this.permits[resource] ?? 0)) return 'nobody is overtaken';
    }
    return undefined;
  }

  #granted(envelope: Envelope, request: Request, now: number): void {
    this.#letGo(now);
    const { lock_id: id, tokens, lease_expires_at: until } = grant.parse(envelope);
    const known = this.holds.find((hold) => hold.id === id && !hold.lost);
    if (known) {
      if (known.agent !== request.from || known.until !== Date.parse(until)) this.broken.add('one terminal answer');
      return;
    }
    const waiter = this.waiters.find((each) => each.request === request);
    const turn = waiter ?? this.#waiter(id, request, now);
    const fault = this.#mayHave(request, turn);
    if (fault) this.broken.add(fault);
    if (waiter && waiter.until <= now) this.broken.add('every deadline progresses');
    if (Object.values(tokens).some((token) => token <= this.#token)) this.broken.add('the token only rises');
    this.#token = Math.max(this.#token, ...Object.values(tokens));
    if (Date.parse(until) !== now + request.lease_seconds * 1000) this.broken.add('a lease is counted from now');
    this.waiters = this.waiters.filter((each) => each !== waiter);
    const { from: agent, lock_type: kind, resources } = request;
    this.holds = [...this.holds, { id, agent, kind, resources, until: Date.parse(until), lost: false }];
  }

  #waiter(lock: string, request: Request, now: number): Waiter {
    this.#count += 1;
    return { lock, request, at: now, until: now + request.wait_seconds * 1000, n: this.#count };
  }

  #queued(id: string, request: Request, now: number): void {
    this.#letGo(now);
    const waiter = this.#waiter(id, request, now);
    if (!this.#mayHave(request, waiter)) this.broken.add('nobody is forgotten');
    this.waiters = [...this.waiters, waiter];
  }

  #denied({ reason, released }: Envelope, request: Request, now: number): void {
    this.#letGo(now);
    const waiter = this.waiters.find((each) => each.request === request);
    if (!waiter) {
      const free = !this.#mayHave(request, this.#waiter('', request, now));
      if (reason === 'busy' && free) this.broken.add('nobody is forgotten');
      return;
    }
    if (reason !== 'timeout' || waiter.until > now) this.broken.add('nothing ends early');
    this.waiters = this.waiters.filter((each) => each !== waiter);
    const held = this.holds.filter(({ agent, lost }) => agent === request.from && !lost);
    const named =
      JSON.stringify(held.map(({ id }) => id).sort()) ===
      JSON.stringify([...z.array(z.string()).parse(released)].sort());
    if (!named) this.broken.add('a time-out costs all that is held');
    this.holds = this.holds.filter((hold) => !held.includes(hold));
  }

  #cancelled(envelope: Envelope, to: LockMessage | undefined): void {
    if (to?.type !== 'lock.cancel') return;
    const waiter = this.waiters.find(({ lock }) => lock === envelope['lock_id']);
    if (!waiter) return;
    if (waiter.request.from !== to.from) this.broken.add('only the holder in time');
    this.#terminal(waiter.request);
    this.waiters = this.waiters.filter((each) => each !== waiter);
  }

  #byHolder(envelope: Envelope, now: number, to: LockMessage): void {
    const hold = this.holds.find(({ id, lost }) => id === envelope['lock_id'] && !lost);
    if (!hold || hold.agent !== to.from || hold.until <= now) this.broken.add('only the holder in time');
    const others = this.holds.filter((each) => each !== hold);
    if (envelope.type === 'lock.released' || !hold) this.holds = others;
    else {
      const { lease_seconds: seconds } = envelope;
      const until = Date.parse(text.parse(envelope['lease_expires_at']));
      if (until !== now + Number(seconds) * 1000) this.broken.add('a lease is counted from now');
      this.holds = [...others, { ...hold, until }];
    }
  }

  #expired({ lock_id: id, by }: Envelope, now: number): void {
    const hold = this.holds.find((each) => each.id === id && !each.lost);
    if (!hold || (by === undefined && hold.until > now)) this.broken.add('nothing ends early');
    if (!hold) return;
    const lost = { ...hold, until: now + this.rollbackMs, lost: true };
    this.holds = [...this.holds.filter((each) => each !== hold), lost];
  }
}

/** Priority, then arrival, then scope, then the order of the log. */
function before(a: Waiter, b: Waiter): boolean {
  if (a.request.priority !== b.request.priority) return a.request.priority < b.request.priority;
  if (a.at !== b.at) return a.at < b.at;
  const [one, other] = [a.request.scope ?? 0, b.request.scope ?? 0];
  return one === other ? a.n < b.n : one > other;
}
