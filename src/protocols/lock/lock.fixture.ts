import { z } from 'zod';
import { byName } from '../../envelope/byName.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import { json, type Json } from '../../envelope/fields.ts';
import { Host } from '../../host/host.ts';
import { passTime } from '../../host/passTime.fixture.ts';
import { snapshotSchema } from '../../host/snapshot.ts';
import { lockManager } from './protocol.ts';

const tokens = byName(z.number());

type Fields = { readonly [field: string]: Json };

/** The locks of the room `lab`, or one of its shards, driven message by message. */
export class LockDrive {
  readonly workflowId: string;
  host: Host<ReturnType<typeof lockManager.initial>, Parameters<typeof lockManager.answer>[0]>;
  now = 0;
  #count = 0;
  #cursor = 0;

  constructor(config: Fields = {}, workflowId = 'synod:lab:locks') {
    this.workflowId = workflowId;
    this.host = new Host(lockManager, { workflowId, room: 'lab', config: { ...config }, now: 0 });
  }

  /** The replies to a message of its own identity, `m1` and so on unless given. */
  say(from: string, verb: string, fields: Fields = {}): Envelope[] {
    this.#count += 1;
    const raw = { id: `m${this.#count}`, ts: '', type: `lock.${verb}`, from, ...fields };
    return this.host.request([raw], this.now).flat();
  }

  /** A request for resources, `a+b`; the replies in short. */
  ask(from: string, lock_type: string, resources: string, fields: Fields = {}): string[] {
    return this.say(from, 'request', { resources: resources.split('+'), lock_type, ...fields }).map(short);
  }

  answers(from: string, verb: string, fields: Fields = {}): string[] {
    return this.say(from, verb, fields).map(short);
  }

  release(from: string, id: string): string[] {
    return this.answers(from, 'release', { lock_id: id });
  }

  /** What the primitive has logged since the last call, in short. */
  emitted(): string[] {
    return this.events().map(short);
  }

  events(): Envelope[] {
    const found: Envelope[] = [];
    for (;;) {
      const before = this.#cursor;
      const args = { agents: ['*'], after: before, wait_seconds: 0, limit: 200 };
      this.host.receive(args, this.now, ({ events, next }) => {
        this.#cursor = next;
        found.push(...events.map(({ envelope }) => envelope).filter(({ from }) => from === 'synod'));
      });
      if (this.#cursor === before) return found;
    }
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

  /** The effects under way, in short. */
  get effects(): string[] {
    return this.host.effects.map(({ name, input }) => `${name} ${text(input['lock_id'] ?? input['agent'])}`);
  }

  /** The first effect of a name ends. */
  end(name: string, failure?: string): void {
    const effect = this.host.effects.find((each) => each.name === name);
    this.host.effectEnded(effect?.key ?? '', failure, this.now);
  }

  view(field: string): unknown {
    return this.host.view(undefined, this.now)[field];
  }

  /** Who holds a resource and who waits for it, by name. */
  of(resource: string): { holders: unknown[]; queue: unknown[] } {
    const { resources } = this.host.view(undefined, this.now);
    const found = Array.isArray(resources)
      ? resources.find((each) => fieldOf(each, 'resource') === resource)
      : undefined;
    const names = (list: unknown, field: string) =>
      Array.isArray(list) ? list.map((each) => fieldOf(each, field)) : [];
    return { holders: names(fieldOf(found, 'holders'), 'holder'), queue: names(fieldOf(found, 'queue'), 'agent') };
  }

  /** The next run, from the JSON of this one. */
  restart(): void {
    const snapshot = snapshotSchema(lockManager.state).parse(JSON.parse(JSON.stringify(this.host.snapshot())));
    this.host = new Host(lockManager, {
      workflowId: this.workflowId,
      room: 'lab',
      config: {},
      now: this.now,
      snapshot,
    });
  }
}

function fieldOf(value: unknown, field: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, field) : undefined;
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(json.parse(value ?? null));
}

/** `granted bob l-1 a:7`, `queued l-2 2 bob`, `denied cleo busy`, `error not_holder`. */
export function short(envelope: Envelope): string {
  const { type, to = '', lock_id: id = '' } = envelope;
  const verb = type.replace('lock.', '');
  const parsed = tokens.safeParse(envelope['tokens']);
  const shown = Object.entries(parsed.data ?? {}).map(([resource, token]) => `${resource}:${token}`);
  const more: { readonly [verb: string]: readonly unknown[] } = {
    error: [envelope['code']],
    granted: [to, id, ...shown],
    queued: [id, envelope['position'], ...[envelope['blocked_by'] ?? []].flat()],
    denied: [to, envelope['reason'], ...[envelope['released'] ?? []].flat()],
    expired: [id, envelope['holder'], ...shown],
    escalated: [envelope['reason'], id === '' ? envelope['agent'] : id],
    cancelled: [id, envelope['request']],
  };
  return [verb, ...(more[verb] ?? [id])].filter((part) => part !== '').join(' ');
}
