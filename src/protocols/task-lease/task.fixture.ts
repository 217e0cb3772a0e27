import type { Envelope } from '../../envelope/envelope.ts';
import type { Json } from '../../envelope/fields.ts';
import type { TaskMessage } from '../../envelope/task.ts';
import { Host } from '../../host/host.ts';
import { passTime } from '../../host/passTime.fixture.ts';
import { REVISION } from '../../host/revision.ts';
import { snapshotSchema } from '../../host/snapshot.ts';
import { taskLease } from './protocol.ts';
import type { TaskState } from './state.ts';

const ABOUT = { workflowId: 'synod:lab:task:t', room: 'lab', config: {} };

type Fields = { readonly [field: string]: Json };

/** A task `t` announced by `ann` at time 0, driven message by message. Windows are of 60 s, leases of 300 s. */
export class TaskDrive {
  host: Host<TaskState, TaskMessage>;
  now = 0;
  #count = 0;
  #cursor = 0;

  /** @param revision the rules that its first run follows; default the latest. */
  constructor(announcement: Fields = {}, revision = REVISION) {
    this.host = new Host(taskLease, { ...ABOUT, now: 0, revision });
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
  answers(from: string, verb: string, fields: Fields = {}): string[] {
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
    const snapshot = snapshotSchema(taskLease.state).parse(JSON.parse(JSON.stringify(this.host.snapshot())));
    this.host = new Host(taskLease, { ...ABOUT, now: this.now, snapshot });
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
