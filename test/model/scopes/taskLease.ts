import { canonicalJson } from '../../../src/envelope/canonical.ts';
import type { Envelope } from '../../../src/envelope/envelope.ts';
import { formatTimestamp, json, type Json } from '../../../src/envelope/fields.ts';
import type { TaskMessage } from '../../../src/envelope/task.ts';
import { Host } from '../../../src/host/host.ts';
import { snapshotSchema, type Snapshot } from '../../../src/host/snapshot.ts';
import type { Protocol } from '../../../src/protocols/protocol.ts';
import { taskLease } from '../../../src/protocols/task-lease/protocol.ts';
import { taskState, type TaskState } from '../../../src/protocols/task-lease/state.ts';
import { NOTHING_SEEN, observe, type Property, type Seen } from '../../../src/protocols/task-lease/observer.fixture.ts';
import type { Move, Scope } from '../explore.ts';

/** Half of the longest claim window, so that windows double once and then stay. */
const TICK_MS = 300_000;
const LEASE_TICKS = 2;
const PRODUCER = 'ann';
const TASK_ID = 't';

export interface TaskScopeOptions {
  readonly agents: readonly string[];
  /** Messages that are sent anew; repeats are free. */
  readonly messages: number;
  readonly claimsEach: number;
  readonly maxAttempts: number;
  /** The announcement ends after so many ticks. */
  readonly expiresTicks?: number;
  readonly protocol?: Protocol<TaskState, TaskMessage>;
}

type Fields = { readonly [field: string]: Json };

interface Raw extends Fields {
  readonly type: string;
  readonly id: string;
  readonly from: string;
}

/** A message that was sent, and the content of its first replies. */
interface Sent {
  readonly raw: Raw;
  readonly name: string;
  readonly replies: string;
}

/** The workflow between two runs, the clock, what was sent, and what each agent has received. */
interface Node {
  /** Undefined before the first run. */
  readonly left: Left | undefined;
  /** The last number of its log. */
  readonly head: number;
  readonly now: number;
  readonly sent: readonly Sent[];
  /** `bob 1`: bob has read that attempt 1 is its own. */
  readonly learned: readonly string[];
  readonly seen: Seen;
}

type Left = { readonly [Key in keyof Snapshot<TaskState>]: unknown };

const schema = snapshotSchema(taskState);

/**
 * One task, its producer and some agents. Each agent claims, renews, completes, fails and releases with every attempt that
 * it has ever learned of, and completes any other's; any message may come again at any time; any answer to a claim may be lost; the clock may run
 * past a deadline before its timer fires; and every step is the first of a new run, restored from JSON.
 */
export function taskScope(name: string, options: TaskScopeOptions): Scope<Node> {
  const { protocol = taskLease, agents, maxAttempts, expiresTicks } = options;

  const restored = new WeakMap<Left, Snapshot<TaskState>>();

  /** The next run, from the JSON that the last one left. */
  function resume({ left, now }: Node): Host<TaskState, TaskMessage> {
    const snapshot = left && (restored.get(left) ?? schema.parse(JSON.parse(JSON.stringify(left))));
    if (left && snapshot) restored.set(left, snapshot);
    return new Host(protocol, { workflowId: 'synod:lab:task:t', room: 'lab', config: {}, now, snapshot });
  }

  /** Ends the run; what the log and the mirror hold has been read. */
  function suspend(host: Host<TaskState, TaskMessage>, head: number): Left {
    return { ...host.snapshot(), log: { head, events: [] }, mirror: { pending: [] } };
  }

  /** Something happens to the workflow; what it logs is observed. */
  function happen(
    label: string,
    node: Node,
    act: (host: Host<TaskState, TaskMessage>, run: Run) => Partial<Node>,
  ): Move<Node> {
    const host = resume(node);
    const run = new Run(host, node);
    const changes = act(host, run);
    run.follow();
    return {
      label,
      next: { ...node, ...changes, seen: run.seen, left: suspend(host, run.cursor), head: run.cursor },
      broken: [...run.broken],
    };
  }

  function send(node: Node, label: string, raw: Raw, learn: boolean): Move<Node> {
    return happen(label, node, (host, run) => {
      run.tick(node.now);
      const replies = host.request([raw], node.now).flat();
      run.follow();
      for (const reply of replies.filter(({ type }) => type === 'task.renewed')) run.note(reply, raw.from);
      const released = replies.some(({ type, from }) => type === 'task.announce' && from === 'synod');
      if (released && host.view(undefined, node.now)['status'] === 'held')
        run.broken.add('nothing acknowledged is lost');
      const sent = [...node.sent, { raw, name: `${raw.from} ${raw.id}`, replies: contents(replies) }];
      return { sent, ...(learn ? { learned: learned(node, replies) } : {}) };
    });
  }

  function repeat(node: Node, { raw, name: what, replies: first }: Sent): Move<Node> {
    return happen(`${what}, again`, node, (host, run) => {
      run.tick(node.now);
      const before = snapshotOf(host);
      const replies = host.request([{ ...raw, ts: 'again' }], node.now).flat();
      const count = first === '' ? 0 : first.split('\n').length;
      if (snapshotOf(host) !== before) run.broken.add('a repeat changes nothing');
      if (contents(replies.slice(0, count)) !== first) run.broken.add('nothing acknowledged is lost');
      return { learned: learned(node, replies) };
    });
  }

  /** The messages that an agent, or the producer, may send now for the first time. */
  function* fresh(node: Node): Iterable<Raw> {
    if (node.sent.length > options.messages) return;
    const taken = new Set(node.sent.map((sent) => sent.name));
    const message = (from: string, id: string, verb: string, more: Fields = {}): Raw[] =>
      taken.has(`${from} ${id}`) ? [] : [{ type: `task.${verb}`, id, from, ts: '', task_id: TASK_ID, ...more }];
    yield* message(PRODUCER, 'cancel', 'cancel');
    for (const from of agents) {
      const claims = node.sent.filter((sent) => sent.name.startsWith(`${from} claim`)).length;
      if (claims < options.claimsEach) yield* message(from, `claim${claims + 1}`, 'claim');
      // The attempt is in the room's log, too: an agent may take the task for its own.
      yield* message(from, `complete${node.seen.announced}`, 'complete', { attempt: node.seen.announced });
      for (const known of node.learned.filter((each) => each.startsWith(`${from} `))) {
        const attempt = Number(known.slice(from.length + 1));
        for (const verb of ['renew', 'release', ...(attempt === node.seen.announced ? [] : ['complete'])])
          yield* message(from, `${verb}${attempt}`, verb, { attempt });
        yield* message(from, `fail${attempt}`, 'fail', { attempt, reason: 'so' });
      }
    }
  }

  return {
    name,
    start() {
      const expires: Fields = expiresTicks === undefined ? {} : { expires_at: formatTimestamp(expiresTicks * TICK_MS) };
      const lease: Fields = { claim_seconds: TICK_MS / 1000, lease_seconds: (LEASE_TICKS * TICK_MS) / 1000 };
      const raw: Raw = {
        type: 'task.announce',
        id: 'announce',
        from: PRODUCER,
        ts: '',
        task_id: TASK_ID,
        title: 'x',
        max_attempts: maxAttempts,
        ...lease,
        ...expires,
      };
      const empty: Node = { left: undefined, head: 0, now: 0, sent: [], learned: [], seen: NOTHING_SEEN };
      return send(empty, 'announce', raw, false);
    },
    *moves(node) {
      const due = resume(node).nextDeadline();
      const running = node.left?.final === undefined;
      // A protocol that names no deadline does not stop the clock: a lease that was given is outlived by a tick.
      const lasts = due ? due.at > node.now : node.seen.grant !== null && node.now <= node.seen.grant.expires;
      if (running && lasts) yield { label: 'a tick passes', next: { ...node, now: node.now + TICK_MS }, broken: [] };
      if (due && running && due.at <= node.now)
        yield happen('the timer fires', node, (_, run) => (run.tick(node.now), {}));
      for (const raw of fresh(node)) {
        const label = `${raw.from} ${raw.id}`;
        yield send(node, label, raw, true);
        // Only the answer to a claim decides what an agent may send next.
        if (raw.type === 'task.claim') yield send(node, `${label}, the answer is lost`, raw, false);
      }
      for (const sent of node.sent) yield repeat(node, sent);
    },
    key: (node) => keyOf(node, agents),
  };
}

/** A run that is observed while it lasts. */
class Run {
  readonly broken = new Set<Property>();
  readonly #host: Host<TaskState, TaskMessage>;
  readonly #now: number;
  /** The last entry read. */
  cursor: number;
  seen: Seen;

  constructor(host: Host<TaskState, TaskMessage>, node: Node) {
    this.#host = host;
    this.#now = node.now;
    this.cursor = node.head;
    this.seen = node.seen;
  }

  note(envelope: Envelope, from: string): void {
    const [seen, broken] = observe(this.seen, envelope, this.#now, { from });
    this.seen = seen;
    for (const property of broken) this.broken.add(property);
  }

  follow(): void {
    const args = { agents: ['*'], after: this.cursor, wait_seconds: 0, limit: 200 };
    this.#host.receive(args, this.#now, ({ events, next }) => {
      this.cursor = next;
      for (const { envelope } of events) this.note(envelope, '');
    });
  }

  tick(now: number): void {
    this.#host.tick(now);
    this.follow();
    const next = this.#host.nextDeadline();
    if (next && next.at <= now && this.#host.phase(now) === 'running') this.broken.add('every deadline progresses');
  }
}

function snapshotOf(host: Host<TaskState, TaskMessage>): string {
  const { state, log, final } = host.snapshot();
  return JSON.stringify({ state, log, final });
}

function contents(replies: readonly Envelope[]): string {
  return replies.map((reply) => JSON.stringify(reply)).join('\n');
}

/** What an agent knows when it has read these replies: the attempts that were acknowledged to it. */
function learned(node: Node, replies: readonly Envelope[]): readonly string[] {
  const own = replies
    .filter(({ type }) => type === 'task.ack')
    .map(({ to, attempt }) => `${to} ${JSON.stringify(attempt)}`);
  return [...new Set([...node.learned, ...own])].sort();
}

/**
 * The state with its times as they are from now, and without what no rule reads: numbers of the log, counters, when
 * things were decided. Replies to repeats do hold old times; they are compared on the way, not distinguished here.
 */
function keyOf(node: Node, agents: readonly string[]): string {
  const { lease, claim, task, attempt, outcome } = taskState.parse(node.left?.state);
  const { recent, spared, pinned } = schema.shape.memory.parse(node.left?.memory);
  const { now, seen } = node;
  const decided = [...recent, ...spared, ...pinned].map(
    ([identity, , [kind, first]]) => `${identity} ${kind} ${first ?? ''}`,
  );
  const parts = {
    attempt,
    outcome: outcome ? [outcome] : [],
    lease: lease ? [lease.holder, lease.expires_at - now, lease.ms, lease.expires_at === lease.first_expires_at] : [],
    claim: claim ? [claim.deadline - now, claim.window] : [],
    ends: task?.expires_at === undefined ? [] : [Math.max(0, task.expires_at - now)],
    seen: { ...seen, grant: seen.grant ? { ...seen.grant, expires: seen.grant.expires - now } : null },
  };
  const any = new RegExp(agents.join('|'), 'g');
  // The two agents are alike: a state in which they have changed places is the same.
  const faces = [agents, [...agents].reverse()].map((order) => {
    const rename = (text: string) => text.replace(any, (agent) => `agent${order.indexOf(agent)}`);
    return [
      rename(canonicalJson(json.parse(parts))),
      ...[decided, node.sent.map(({ name }) => name), node.learned].map((list) => list.map(rename).sort().join()),
    ].join('\n');
  });
  return faces.sort()[0] ?? '';
}
