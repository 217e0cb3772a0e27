import type { Envelope } from '../../envelope/envelope.ts';
import type { Json } from '../../envelope/fields.ts';
import { Host } from '../../host/host.ts';
import { passTime } from '../../host/passTime.fixture.ts';
import { coordinatorElection } from './protocol.ts';

type Fields = { readonly [field: string]: Json };

/** The election of role `main`, driven message by message; heartbeats are due every 10 s. */
export class ElectionDrive {
  readonly host = new Host(coordinatorElection, {
    workflowId: 'synod:lab:coordinator:main',
    room: 'lab',
    config: {},
    now: 0,
  });
  now = 0;
  #count = 0;
  #cursor = 0;

  /** The candidates join in this order; the first leads epoch 1. */
  constructor(...candidates: readonly string[]) {
    for (const candidate of candidates) this.say(candidate, 'join');
    this.emitted();
  }

  /** The replies to a message of its own identity. */
  say(from: string, verb: string, fields: Fields = {}): Envelope[] {
    this.#count += 1;
    const id = `m${this.#count}`;
    return this.host.request([{ id, ts: '', type: `coordinator.${verb}`, from, ...fields }], this.now).flat();
  }

  /** The same, in short: `coordinator.joined 1 ann`, `error not_holder`. */
  answers(from: string, verb: string, fields: Fields = {}): string[] {
    return this.say(from, verb, fields).map(short);
  }

  /** What the primitive has logged since the last call, in short. */
  emitted(): string[] {
    return this.events()
      .filter(({ from }) => from === 'synod')
      .map(short);
  }

  /** All that was logged since the last call. */
  events(): Envelope[] {
    const found: Envelope[] = [];
    const args = { agents: ['*'], after: this.#cursor, wait_seconds: 0, limit: 200 };
    this.host.receive(args, this.now, ({ events, next }) => {
      this.#cursor = next;
      found.push(...events.map(({ envelope }) => envelope));
    });
    return found;
  }

  /** Time passes to so many seconds after the start while no worker runs. */
  late(seconds: number): this {
    this.now = Math.round(seconds * 1000);
    this.host.tick(this.now);
    return this;
  }

  /** Time passes to so many seconds after the start. */
  at(seconds: number): this {
    this.now = Math.round(seconds * 1000);
    passTime(this.host, this.now);
    return this;
  }

  view(field: string): unknown {
    return this.host.view(undefined, this.now)[field];
  }
}

function short({ type, ...fields }: Envelope): string {
  const about = ['code', 'epoch', 'coordinator'].flatMap((field) =>
    field in fields ? [JSON.stringify(fields[field])] : [],
  );
  return [type, ...about].join(' ').replaceAll('"', '');
}
