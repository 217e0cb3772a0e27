import type { CoordinatorMessage } from '../../envelope/coordinator.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import type { Json } from '../../envelope/fields.ts';
import { Host } from '../../host/host.ts';
import type { Snapshot } from '../../host/snapshot.ts';
import type { Protocol } from '../protocol.ts';
import type { ElectionState } from './state.ts';
import { activeAt, NOTHING_SEEN, observe, type Property, type Seen } from './observer.fixture.ts';

/** A message as it is sent. */
export interface Raw {
  readonly type: string;
  readonly id: string;
  readonly from: string;
  readonly [field: string]: Json;
}

/** A message that was sent, and its first replies. */
export interface Sent {
  readonly raw: Raw;
  readonly first: readonly Envelope[];
}

/** Where an earlier run and its observer stood. */
export interface Stand {
  readonly snapshot: Snapshot<ElectionState> | undefined;
  readonly seen: Seen;
  /** The last entry read. */
  readonly head: number;
  readonly now: number;
}

const START: Stand = { snapshot: undefined, seen: NOTHING_SEEN, head: 0, now: 0 };

/** An election that is driven, and observed while it is. */
export class ObservedElection {
  readonly broken = new Set<Property>();
  readonly host: Host<ElectionState, CoordinatorMessage>;
  readonly #lapseMs: number;
  seen: Seen;
  head: number;
  now: number;

  constructor(protocol: Protocol<ElectionState, CoordinatorMessage>, lapseMs: number, stand: Stand = START) {
    const workflowId = 'synod:lab:coordinator:main';
    const { now, snapshot } = stand;
    this.host = new Host(protocol, { workflowId, room: 'lab', config: {}, now, snapshot });
    this.#lapseMs = lapseMs;
    this.seen = stand.seen;
    this.head = stand.head;
    this.now = now;
  }

  send(raw: Raw): Sent {
    this.tick();
    const first = this.host.request([raw], this.now).flat();
    for (const reply of first.filter(({ seq }) => seq === undefined)) {
      if (reply.type === 'coordinator.joined') this.#note(reply);
      // The message is read in the place of its answer, which has too little.
      if (reply.type === 'coordinator.alive') this.#note({ ts: '', ...raw, type: 'coordinator.heartbeat' });
    }
    this.#settle();
    return { raw, first };
  }

  repeat({ raw, first }: Sent): void {
    this.tick();
    const before = this.#standing();
    const again = this.host.request([{ ...raw, ts: 'again' }], this.now).flat();
    const same = JSON.stringify(again.slice(0, first.length)) === JSON.stringify(first);
    if (!same || this.#standing() !== before) this.broken.add('a repeat gets its first reply and changes nothing');
  }

  /** Lets the timer fire if it is due: none is due afterwards. */
  tick(): void {
    this.host.tick(this.now);
    this.#settle();
    const next = this.host.nextDeadline();
    if (next && next.at <= this.now) this.broken.add('every deadline progresses');
  }

  #settle(): void {
    const args = { agents: ['*'], after: this.head, wait_seconds: 0, limit: 200 };
    this.host.receive(args, this.now, ({ events, next }) => {
      for (const { envelope } of events) this.#note(envelope);
      this.head = next;
    });
    if (this.seen.leader === null && activeAt(this.seen, this.now, this.#lapseMs).length > 0)
      this.broken.add('somebody leads while anybody is active');
  }

  #note(envelope: Envelope): void {
    const [seen, broken] = observe(this.seen, envelope, this.now, this.#lapseMs);
    this.seen = seen;
    for (const property of broken) this.broken.add(property);
  }

  #standing(): string {
    const { state, log } = this.host.snapshot();
    return JSON.stringify({ state, log });
  }
}
