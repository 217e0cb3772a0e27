import { isDeepStrictEqual } from 'node:util';
import type { Received, ReceiveArgs } from '../../src/envelope/calls.ts';
import { canonicalJson } from '../../src/envelope/canonical.ts';
import type { Base, Envelope } from '../../src/envelope/envelope.ts';
import { json, type Json } from '../../src/envelope/fields.ts';
import type { RefusalCode } from '../../src/envelope/refusal.ts';
import type { Publication } from '../../src/envelope/room.ts';
import { Host } from '../../src/host/host.ts';
import { REVISION } from '../../src/host/revision.ts';
import { snapshotSchema } from '../../src/host/snapshot.ts';
import type { Protocol } from '../../src/protocols/protocol.ts';

/** A host without the types of its protocol, so that one suite reaches all of them. */
export type AnyHost = Pick<Host<unknown, Base>, keyof Host<unknown, Base>>;

/** A message without what the suite adds: `id`, `ts`, `idempotency_key`. */
export interface Said {
  readonly type: string;
  readonly from: string;
  readonly [field: string]: Json;
}

/** Something that happens to a workflow. */
export type Step =
  | {
      readonly say: Said;
      /** The type of its first reply. */
      readonly answer: string;
      /** The reply is not logged. */
      readonly quiet?: true;
      /** Its identity is never forgotten. */
      readonly kept?: true;
    }
  /** The next deadline comes, and emits this. */
  | { readonly deadline: string }
  | { readonly publish: Publication };

/** One of a protocol's deadlines, and how a message is answered before and after it. */
export interface DeadlineSample {
  readonly name: string;
  readonly steps: readonly Step[];
  readonly say: Said;
  /** What its first reply is a millisecond before, by type or code. */
  readonly before: string;
  /** The same at the deadline and after it. */
  readonly after: string;
}

/** All that the suite needs of a protocol. */
export interface Samples {
  readonly workflowId: string;
  /** Drives it from start to finish; the first step opens it. */
  readonly script: readonly Step[];
  /** One valid message of every type. */
  readonly messages: readonly Said[];
  /** A message that the protocol refuses once the first step is done, where it refuses any. */
  readonly refused?: { readonly say: Said; readonly code: RefusalCode };
  /** Fields that name another instance. */
  readonly foreign: readonly { readonly [field: string]: Json }[];
  readonly deadlines: readonly DeadlineSample[];
  /** It logs nothing of what it does: its log holds refusals and configuration alone. */
  readonly silent?: true;
  /** The nth of endless messages that keep it busy, accepted after the first step. */
  readonly storm: (n: number) => Said;
}

export interface Subject extends Samples {
  readonly name: string;
  readonly area: string;
  /** It is opened by a message, ends, and lingers. */
  readonly completes: boolean;
  readonly types: readonly string[];
  readonly operatorTypes: readonly string[];
  create(now: number, config?: { readonly [key: string]: Json }, revision?: number): AnyHost;
  /** What a run makes of the JSON that an earlier one left. */
  restore(snapshot: string, now: number): AnyHost;
  /** The protocol's state as it was, and as it is read back from JSON. */
  carried(host: AnyHost): { before: unknown; after: unknown };
}

const ROOM = 'lab';

export function subject<S, M extends Base>(protocol: Protocol<S, M>, samples: Samples): Subject {
  const { workflowId } = samples;
  const rules = Object.entries(protocol.messages);
  return {
    ...samples,
    name: protocol.workflowType,
    area: protocol.area,
    completes: protocol.opening !== undefined,
    types: rules.map(([type]) => type),
    operatorTypes: rules.flatMap(([type, rule]) => (rule.operator ? [type] : [])),
    create: (now, config = {}, revision = REVISION) =>
      new Host(protocol, { workflowId, room: ROOM, config, now, revision }),
    restore: (text, now) => {
      const snapshot = snapshotSchema(protocol.state).parse(JSON.parse(text));
      return new Host(protocol, { workflowId, room: ROOM, config: {}, now, snapshot });
    },
    carried: (host) => {
      const before = host.snapshot().state;
      const after = protocol.state.parse(JSON.parse(JSON.stringify(before)));
      return { before: asStored(before), after: asStored(after) };
    },
  };
}

/** A state that keeps indexes beside what it stores defines itself what that is: it must be plain, and all of the state. */
function asStored(state: unknown): unknown {
  if (typeof state !== 'object' || state === null || !('toJSON' in state) || typeof state.toJSON !== 'function')
    return state;
  const stored: unknown = state.toJSON();
  if (!isDeepStrictEqual(JSON.parse(JSON.stringify(stored)), stored)) throw new Error('what it stores is no JSON');
  return stored;
}

export const START = Date.UTC(2026, 0, 1);

/** A message as it is sent. */
export interface Raw extends Said {
  readonly id: string;
  readonly ts: string;
  readonly idempotency_key: string;
}

/** A message that was sent, and its replies. */
export interface Sent {
  readonly raw: Raw;
  readonly replies: readonly Envelope[];
  readonly step: Extract<Step, { say: Said }>;
}

/** A workflow that is driven step by step. */
export class Drive {
  readonly subject: Subject;
  readonly sent: Sent[] = [];
  /** Every run ends after every step. */
  readonly restarts: boolean;
  host: AnyHost;
  now = START;
  #count = 0;

  constructor(of: Subject, options: { restarts?: boolean; config?: { [key: string]: Json }; revision?: number } = {}) {
    this.subject = of;
    this.restarts = options.restarts ?? false;
    this.host = of.create(START, options.config, options.revision);
  }

  /** A complete message of its own identity. */
  message(say: Said, more: { readonly [field: string]: Json } = {}): Raw {
    this.#count += 1;
    return { id: `m${this.#count}`, idempotency_key: `k${this.#count}`, ts: `at ${this.#count}`, ...say, ...more };
  }

  request(raw: unknown): Envelope[] {
    return this.host.request([raw], this.now).flat();
  }

  run(steps: readonly Step[], more: { readonly [field: string]: Json } = {}): this {
    for (const step of steps) this.step(step, more);
    return this;
  }

  step(step: Step, more: { readonly [field: string]: Json } = {}): void {
    if ('say' in step) {
      const raw = this.message(step.say, more);
      const replies = this.request(raw);
      if (replies[0]?.type !== step.answer) throw new Error(`${step.say.type} got ${JSON.stringify(replies[0])}`);
      this.sent.push({ raw, replies, step });
    } else if ('deadline' in step) {
      const before = this.head;
      this.now = this.host.nextDeadline()?.at ?? this.now;
      this.host.tick(this.now);
      const emitted = this.read('*', before).events.map(({ envelope }) => envelope.type);
      if (!emitted.includes(step.deadline)) throw new Error(`the deadline emitted ${emitted.join()}`);
    } else this.host.publish(step.publish, this.now);
    if (this.restarts) this.restart();
  }

  /** Ends the run and starts the next one from its JSON. */
  restart(): void {
    this.host = this.subject.restore(JSON.stringify(this.host.snapshot()), this.now);
  }

  receive(args: Partial<ReceiveArgs> & { agents: string[] }, resolve: (received: Received) => void): void {
    this.host.receive({ after: 0, wait_seconds: 0, limit: 200, ...args }, this.now, resolve);
  }

  /** What one agent can read at once. */
  read(agent: string, after: number, limit = 200): Received {
    const pages: Received[] = [];
    this.receive({ agents: [agent], after, limit }, (page) => pages.push(page));
    const [page] = pages;
    if (!page) throw new Error('receive did not answer at once');
    return page;
  }

  get head(): number {
    return this.read('*', -1).next;
  }

  /** All that a message could change, but for the counters and the memory of identities. */
  get standing(): string {
    const { state, log, final, opened, config } = this.host.snapshot();
    return canonicalJson(json.parse(JSON.parse(JSON.stringify({ state, log, final, opened, config }))));
  }

  counter(name: string): number {
    const counters = this.host.view(undefined, this.now)['counters'];
    return typeof counters === 'object' && counters !== null ? Number(Reflect.get(counters, name)) : Number.NaN;
  }
}

/** What is the same in a reply however often it is given: all but the ids of its own question. */
export function content(reply: Envelope): object {
  const { in_reply_to: _, id, ...rest } = reply;
  return rest.seq === undefined ? rest : { id, ...rest };
}

/** Whether a reply is `{area}.accepted`, which is not logged: its `seq` is the place of the message that was accepted. */
export function isAcceptance({ type }: Envelope): boolean {
  return type.endsWith('.accepted');
}

/** A refusal's code, or the type of what is none. */
export function codeOf(replies: readonly Envelope[]): unknown {
  const [first] = replies;
  return first?.type === 'error' ? first['code'] : first?.type;
}

/** Fields of an operator's message that every workflow takes. */
export const CONFIGURE: Said = { type: 'config.set', from: 'operator:jo', config: { max_waits: 3 } };
