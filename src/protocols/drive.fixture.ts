import type { Base, Envelope } from '../envelope/envelope.ts';
import type { Json } from '../envelope/fields.ts';
import { Host } from '../host/host.ts';
import { passTime } from '../host/passTime.fixture.ts';
import { snapshotSchema } from '../host/snapshot.ts';
import type { Protocol } from './protocol.ts';

export type Fields = { readonly [field: string]: Json };

/** A workflow of any protocol in room `lab`, started at time 0 and driven message by message. */
export class ProtocolDrive<S, M extends Base> {
  host: Host<S, M>;
  now = 0;
  readonly #protocol: Protocol<S, M>;
  readonly #about: Fields;
  readonly #workflowId: string;
  #count = 0;
  #cursor = 0;

  /** @param about the fields that name the instance, in every message. */
  constructor(protocol: Protocol<S, M>, workflowId: string, about: Fields) {
    this.#protocol = protocol;
    this.#about = about;
    this.#workflowId = workflowId;
    this.host = new Host(protocol, { workflowId, room: 'lab', config: {}, now: 0 });
  }

  /** A message of its own identity. */
  message(from: string, verb: string, fields: Fields = {}): Fields {
    this.#count += 1;
    return { id: `m${this.#count}`, ts: '', type: `${this.#protocol.area}.${verb}`, from, ...this.#about, ...fields };
  }

  send(raw: unknown): Envelope[] {
    return this.host.request([raw], this.now).flat();
  }

  /** The replies to a message of its own identity. */
  say(from: string, verb: string, fields: Fields = {}): Envelope[] {
    return this.send(this.message(from, verb, fields));
  }

  /** The same, in short: `decision.voted`, `error not_eligible`. */
  answers(from: string, verb: string, fields: Fields = {}): string[] {
    return this.say(from, verb, fields).map(short);
  }

  /** What has been logged since the last call. */
  events(): Envelope[] {
    const found: Envelope[] = [];
    for (let read = -1; read !== this.#cursor;) {
      read = this.#cursor;
      const args = { agents: ['*'], after: this.#cursor, wait_seconds: 0, limit: 200 };
      this.host.receive(args, this.now, ({ events, next }) => {
        this.#cursor = next;
        found.push(...events.map(({ envelope }) => envelope));
      });
    }
    return found;
  }

  /** What the primitive has logged since the last call, in short. */
  emitted(): string[] {
    return this.events()
      .filter(({ from }) => from === 'synod')
      .map(short);
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

  /** Ends the run and starts the next one from its JSON. */
  restart(): this {
    const snapshot = snapshotSchema(this.#protocol.state).parse(JSON.parse(JSON.stringify(this.host.snapshot())));
    const options = { workflowId: this.#workflowId, room: 'lab', config: {}, now: this.now, snapshot };
    this.host = new Host(this.#protocol, options);
    return this;
  }

  view(field: string): unknown {
    return this.host.view(undefined, this.now)[field];
  }
}

function short({ type, ...fields }: Envelope): string {
  return type === 'error' ? `error ${JSON.stringify(fields['code']).replaceAll('"', '')}` : type;
}
