import type { Envelope } from '../../envelope/envelope.ts';
import type { Json } from '../../envelope/fields.ts';
import { Host } from '../../host/host.ts';
import { taskLease } from './protocol.ts';

type Fields = { readonly [field: string]: Json };

/** A task `t` announced by `ann` at time 0, driven message by message. Windows are of 60 s, leases of 300 s. */
export class TaskDrive {
  readonly host = new Host(taskLease, { workflowId: 'synod:lab:task:t', room: 'lab', config: {}, now: 0 });
  now = 0;
  #count = 0;
  #cursor = 0;

  constructor(announcement: Fields = {}) {
    this.say('ann', 'announce', { title: 'Sort', ...announcement });
    this.emitted();
  }

  /** The replies to a message of its own identity. */
  say(from: string, verb: string, fields: Fields = {}): Envelope[] {
    this.#count += 1;
    const raw = { id: `m${this.#count}`, ts: '', type: `task.${verb}`, from, task_id: 't', ...fields };
    return this.host.request([raw], this.now).flat();
  }

  /** The same, in short: `task.ack 1`, `error not_holder`. */
  told(from: string, verb: string, fields: Fields = {}): string[] {
    return this.say(from, verb, fields).map(short);
  }

  /** What the primitive has logged since the last call, in short. */
  emitted(): string[] {
    return this.events().map(short);
  }

  events(): Envelope[] {
    const found: Envelope[] = [];
    const args = { agents: ['*'], after: this.#cursor, wait_seconds: 0, limit: 200 };
    this.host.receive(args, this.now, ({ events, next }) => {
      this.#cursor = next;
      found.push(...events.map(({ envelope }) => envelope).filter(({ from }) => from === 'synod'));
    });
    return found;
  }

  /** Time passes to so many seconds after the start. */
  at(seconds: number): this {
    this.now = Math.round(seconds * 1000);
    this.host.tick(this.now);
    return this;
  }

  view(field: string): unknown {
    return this.host.view(undefined, this.now)[field];
  }
}

function short(envelope: Envelope): string {
  const about = envelope.type === 'error' ? envelope['code'] : envelope['attempt'];
  return about === undefined ? envelope.type : `${envelope.type} ${JSON.stringify(about).replaceAll('"', '')}`;
}

/** A task that bob holds since second 0. */
export function held(announcement: Fields = {}): TaskDrive {
  const task = new TaskDrive(announcement);
  task.say('bob', 'claim');
  task.emitted();
  return task;
}
