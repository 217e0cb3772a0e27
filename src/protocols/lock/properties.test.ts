import fc from 'fast-check';
import { describe } from 'vitest';
import { z } from 'zod';
import { parseMessage, isRefusal } from '../../envelope/envelope.ts';
import type { Json } from '../../envelope/fields.ts';
import { lockMessages, type LockMessage } from '../../envelope/lock.ts';
import { Host } from '../../host/host.ts';
import { snapshotSchema } from '../../host/snapshot.ts';
import { deadline, keepsEveryProperty, noticesBroken, pass } from '../properties.fixture.ts';
import type { Protocol } from '../protocol.ts';
import { brokenProtocols } from './broken.fixture.ts';
import { Observer, type Property } from './observer.fixture.ts';
import { lockManager } from './protocol.ts';
import type { LockState } from './state.ts';

const lockId = z.string();
const PERMITS = { p: 2 };
const ROLLBACK_SECONDS = 0.02;
const AGENTS = ['ann', 'bob', 'cleo', 'dan', 'eve'];

/** What happens next: a request, something about the nth lock or request, an effect ends, a new run, or time passes. */
type Move =
  | {
      do: 'ask';
      from: string;
      kind: string;
      on: string[];
      lease: number;
      wait: number;
      priority: number;
      scope: number;
    }
  | { do: 'about'; verb: string; nth: number; thief: boolean }
  | { do: 'cancel'; nth: number }
  | { do: 'effect'; nth: number; fails: boolean }
  | { do: 'restart' }
  | { do: 'pass'; ms: number }
  | { do: 'deadline'; offset: number };

const ask = fc.record({
  do: fc.constant('ask' as const),
  from: fc.constantFrom(...AGENTS),
  kind: fc.constantFrom('read', 'write', 'exclusive', 'permit'),
  on: fc.subarray(['a', 'b', 'p'], { minLength: 1 }),
  lease: fc.integer({ min: 1, max: 90 }),
  wait: fc.oneof({ weight: 1, arbitrary: fc.constant(0) }, { weight: 4, arbitrary: fc.integer({ min: 1, max: 60 }) }),
  priority: fc.integer({ min: 2, max: 3 }),
  scope: fc.integer({ min: 0, max: 1 }),
});
const about = fc.record({
  do: fc.constant('about' as const),
  verb: fc.constantFrom('release', 'release', 'renew', 'cancel', 'force_release'),
  nth: fc.nat(6),
  thief: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
});
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 8, arbitrary: ask },
  { weight: 6, arbitrary: about },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), nth: fc.integer({ min: -20, max: 3 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('effect' as const), nth: fc.nat(3), fails: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
  { weight: 2, arbitrary: pass(30) },
  { weight: 2, arbitrary: deadline },
);
// Schedules longer than the default: what goes wrong takes a few steps.
const schedule = fc.array(move, { minLength: 1, maxLength: 60, size: 'max' });

/** One lock manager under a schedule, observed while it lasts. */
class Course {
  readonly observer = new Observer(PERMITS, ROLLBACK_SECONDS * 1000);
  readonly #protocol: Protocol<LockState, LockMessage>;
  #host: Host<LockState, LockMessage>;
  #now = 0;
  #cursor = 0;
  /** Requests that were sent, and the locks that were named. */
  readonly #keys: { from: string; key: string }[] = [];
  readonly #locks: { from: string; id: string }[] = [];
  #count = 0;

  constructor(protocol: Protocol<LockState, LockMessage>) {
    this.#protocol = protocol;
    const config = { permits: PERMITS, rollback_seconds: ROLLBACK_SECONDS };
    this.#host = new Host(protocol, { workflowId: 'synod:lab:locks', room: 'lab', config, now: 0 });
  }

  run(moves: readonly Move[]): Set<Property> {
    for (const each of moves) this.#happen(each);
    return this.observer.broken;
  }

  #happen(move: Move): void {
    switch (move.do) {
      case 'pass':
        this.#now += move.ms;
        break;
      case 'deadline':
        this.#now = Math.max(this.#now, (this.#host.nextDeadline()?.at ?? this.#now) + move.offset);
        break;
      case 'restart': {
        const left: unknown = JSON.parse(JSON.stringify(this.#host.snapshot()));
        const snapshot = snapshotSchema(this.#protocol.state).parse(left);
        this.#host = new Host(this.#protocol, {
          workflowId: 'synod:lab:locks',
          room: 'lab',
          config: {},
          now: this.#now,
          snapshot,
        });
        break;
      }
      case 'effect': {
        const effect = this.#host.effects[move.nth % Math.max(1, this.#host.effects.length)];
        if (!effect) break;
        this.#tick();
        if (effect.name === 'rollback') this.observer.rollbackEnded(lockId.parse(effect.input['lock_id']));
        this.#host.effectEnded(effect.key, move.fails ? 'Error: no' : undefined, this.#now);
        this.#follow();
        break;
      }
      default:
        this.#say(move);
    }
    this.#tick();
    this.observer.rest(this.#now);
    const { state } = this.#host.snapshot();
    const bytes = Buffer.byteLength(JSON.stringify(state));
    if (bytes > (this.#protocol.size?.(state as LockState) ?? Infinity))
      this.observer.broken.add('the size is an upper bound');
  }

  #say(move: Extract<Move, { do: 'ask' | 'about' | 'cancel' }>): void {
    this.#count += 1;
    const raw = { id: `m${this.#count}`, ts: '', ...this.#message(move) };
    const schema = Object.entries(lockMessages).find(([type]) => type === raw.type)?.[1];
    const message = schema && parseMessage<LockMessage>(raw, schema);
    if (!message || isRefusal(message)) return;
    this.#tick();
    this.observer.sent(message);
    if (raw.type === 'lock.request') this.#keys.push({ from: raw.from, key: raw.id });
    const replies = this.#host.request([raw], this.#now).flat();
    for (const reply of replies) {
      const logged = reply.seq !== undefined && !reply.type.endsWith('.accepted');
      if (!logged) this.observer.read(reply, this.#now, message);
      if (typeof reply['lock_id'] === 'string' && message.type === 'lock.request')
        this.#locks.push({ from: raw.from, id: reply['lock_id'] });
    }
    this.#follow(message);
  }

  #message(move: Extract<Move, { do: 'ask' | 'about' | 'cancel' }>): {
    type: string;
    from: string;
    [field: string]: Json;
  } {
    if (move.do === 'ask') {
      const { from, kind, on, lease, wait, priority, scope } = move;
      const resources = kind === 'permit' ? ['p'] : on;
      const seconds = { lease_seconds: lease / 1000, wait_seconds: wait / 1000 };
      return { type: 'lock.request', from, resources, lock_type: kind, ...seconds, priority, scope };
    }
    if (move.do === 'cancel') {
      const known = this.#keys.at(move.nth);
      // One that is still to come, or one that was sent.
      const { from, key } = move.nth > 0 || !known ? { from: 'ann', key: `m${this.#count + move.nth}` } : known;
      return { type: 'lock.cancel', from, request: key };
    }
    const lock = this.#locks.at(-1 - (move.nth % Math.max(1, this.#locks.length))) ?? { from: 'ann', id: 'l-1' };
    const from = move.verb === 'force_release' ? 'operator:jo' : move.thief ? 'eve' : lock.from;
    return { type: `lock.${move.verb}`, from, lock_id: lock.id, reason: 'so' };
  }

  #tick(): void {
    this.#host.tick(this.#now);
    this.#follow();
    const next = this.#host.nextDeadline();
    if (next && next.at <= this.#now) this.observer.broken.add('every deadline progresses');
  }

  #follow(message?: LockMessage): void {
    const args = { agents: ['*'], after: this.#cursor, wait_seconds: 0, limit: 200 };
    this.#host.receive(args, this.#now, ({ events, next }) => {
      this.#cursor = next;
      for (const { envelope } of events)
        if (envelope.from === 'synod')
          this.observer.read(envelope, this.#now, envelope.in_reply_to === message?.id ? message : undefined);
    });
  }
}

function broken(protocol: Protocol<LockState, LockMessage>, moves: readonly Move[]): Set<Property> {
  return new Course(protocol).run(moves);
}

const course = { sound: lockManager, schedule, broken };

describe('the locks of five agents on three resources', () => {
  keepsEveryProperty(course, { numRuns: 700 });
});

describe('the properties can fail', () => {
  noticesBroken(course, brokenProtocols, { numRuns: 700 });
});
