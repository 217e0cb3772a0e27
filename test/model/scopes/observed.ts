import { canonicalJson } from '../../../src/envelope/canonical.ts';
import type { Base } from '../../../src/envelope/envelope.ts';
import { json, type Json } from '../../../src/envelope/fields.ts';
import { Host } from '../../../src/host/host.ts';
import { snapshotSchema, type Snapshot } from '../../../src/host/snapshot.ts';
import type { Protocol } from '../../../src/protocols/protocol.ts';
import { Observed, type Observer } from '../../../src/protocols/observed.fixture.ts';
import type { Move, Scope } from '../explore.ts';

export interface Raw {
  readonly type: string;
  readonly id: string;
  readonly from: string;
  readonly [field: string]: Json;
}

/** A world of one workflow, some messages, each of which may come once and then again at any time, and the clock. */
export interface World<S, M extends Base, Seen, Property extends string> {
  readonly protocol: Protocol<S, M>;
  readonly workflowId: string;
  readonly observer: Observer<Seen, Property>;
  readonly opening: Raw;
  /** What may be sent after it, in any order. */
  readonly messages: readonly Raw[];
  /** So many of them are sent anew; repeats are free. */
  readonly sent: number;
  readonly tickMs: number;
  /** The clock runs so long where nothing is due. */
  readonly lastsMs: number;
  /** Agents that are alike: a state in which they have changed places is the same. */
  readonly alike: readonly string[];
  /** What of a state the future depends on, with names instead of places and times as they are from now. */
  readonly parts: (state: S, now: number) => Json;
}

type Left<S> = { readonly [Key in keyof Snapshot<S>]: unknown };

interface Node<S, Seen> {
  /** Undefined before the first run. */
  readonly left: Left<S> | undefined;
  readonly head: number;
  readonly now: number;
  /** The content of the first replies to each message that was sent. */
  readonly sent: readonly { readonly raw: Raw; readonly replies: string }[];
  readonly seen: Seen;
}

/** The world as a scope to explore. Every step is the first of a new run, restored from JSON. */
export function observedScope<S, M extends Base, Seen, Property extends string>(
  name: string,
  world: World<S, M, Seen, Property>,
): Scope<Node<S, Seen>> {
  const { protocol, workflowId, observer, tickMs } = world;
  const schema = snapshotSchema(protocol.state);
  const orders = permutations(world.alike);
  const restored = new WeakMap<Left<S>, Snapshot<S>>();

  function resume({ left, now, seen, head }: Node<S, Seen>): Observed<S, M, Seen, Property> {
    const snapshot = left && (restored.get(left) ?? schema.parse(JSON.parse(JSON.stringify(left))));
    if (left && snapshot) restored.set(left, snapshot);
    const host = new Host(protocol, { workflowId, room: 'lab', config: {}, now, snapshot });
    return new Observed(host, observer, seen, head);
  }

  function happen(
    label: string,
    node: Node<S, Seen>,
    act: (run: Observed<S, M, Seen, Property>) => Partial<Node<S, Seen>>,
  ): Move<Node<S, Seen>> {
    const run = resume(node);
    const changes = act(run);
    // What the log and the mirror hold has been read.
    const left = { ...run.host.snapshot(), log: { head: run.cursor, events: [] }, mirror: { pending: [] } };
    return { label, next: { ...node, ...changes, seen: run.seen, left, head: run.cursor }, broken: [...run.broken] };
  }

  function send(node: Node<S, Seen>, raw: Raw): Move<Node<S, Seen>> {
    return happen(`${raw.from} ${raw.id}`, node, (run) => ({
      sent: [...node.sent, { raw, replies: JSON.stringify(run.send(raw, node.now)) }],
    }));
  }

  return {
    name,
    start: () => send({ left: undefined, head: 0, now: 0, sent: [], seen: observer.nothing }, world.opening),
    *moves(node) {
      const { host } = resume(node);
      const due = host.nextDeadline();
      const running = !node.left?.final;
      // A protocol that names no deadline does not stop the clock.
      if (running && (due ? due.at > node.now : node.now < world.lastsMs))
        yield { label: 'a tick passes', next: { ...node, now: node.now + tickMs }, broken: [] };
      if (running && due && due.at <= node.now)
        yield happen('the timer fires', node, (run) => (run.tick(node.now), {}));
      if (node.sent.length <= world.sent) {
        const known = new Set(node.sent.map(({ raw }) => raw));
        for (const raw of world.messages) if (!known.has(raw)) yield send(node, raw);
      }
      for (const { raw, replies } of node.sent)
        yield happen(`${raw.from} ${raw.id}, again`, node, (run) => (run.repeat(raw, node.now, replies), {}));
    },
    key(node) {
      const state = protocol.state.parse(node.left?.state);
      const { recent, spared, pinned } = schema.shape.memory.parse(node.left?.memory);
      const decided = [...recent, ...spared, ...pinned].map(([identity, , verdict]) => `${identity} ${verdict.join()}`);
      const sent = node.sent.map(({ raw }) => `${raw.from} ${raw.id}`);
      const parts = canonicalJson(json.parse(world.parts(state, node.now)));
      const faces = orders.map((order) => {
        const rename = (text: string) =>
          world.alike.length > 0
            ? text.replace(new RegExp(world.alike.join('|'), 'g'), (agent) => `a${order.indexOf(agent)}`)
            : text;
        return [rename(parts), ...[decided, sent].map((list) => list.map(rename).toSorted(byText).join())].join('\n');
      });
      return faces.toSorted(byText)[0] ?? '';
    },
  };
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function permutations(names: readonly string[]): string[][] {
  if (names.length === 0) return [[]];
  return names.flatMap((name) => permutations(names.filter((other) => other !== name)).map((rest) => [name, ...rest]));
}
