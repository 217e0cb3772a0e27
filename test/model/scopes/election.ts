import { canonicalJson } from '../../../src/envelope/canonical.ts';
import type { CoordinatorMessage } from '../../../src/envelope/coordinator.ts';
import { json, type Json } from '../../../src/envelope/fields.ts';
import { snapshotSchema, type Snapshot } from '../../../src/host/snapshot.ts';
import { coordinatorElection } from '../../../src/protocols/election/protocol.ts';
import { electionState, type ElectionState } from '../../../src/protocols/election/state.ts';
import { NOTHING_SEEN, type Seen } from '../../../src/protocols/election/observer.fixture.ts';
import { ObservedElection, type Raw, type Sent } from '../../../src/protocols/election/observed.fixture.ts';
import type { Protocol } from '../../../src/protocols/protocol.ts';
import type { Move, Scope } from '../explore.ts';

/** Three heartbeats last two ticks: a candidate is active, half lapsed, or lapsed. */
const TICK_MS = 300_000;
const LAPSE_MS = 2 * TICK_MS;

export interface ElectionScopeOptions {
  readonly candidates: readonly string[];
  /** Messages that are sent anew; repeats are free. */
  readonly messages: number;
  readonly protocol?: Protocol<ElectionState, CoordinatorMessage>;
}

/** The workflow between two runs, the clock, and what was sent. */
interface Node {
  /** Undefined before the first run. */
  readonly left: Left | undefined;
  readonly head: number;
  readonly now: number;
  readonly sent: readonly Sent[];
  readonly seen: Seen;
}

type Left = { readonly [Key in keyof Snapshot<ElectionState>]: unknown };

const schema = snapshotSchema(electionState);

/**
 * One role and some candidates. Each joins twice, leaves, and sends what a coordinator may in every epoch that it was ever elected
 * for, and directs in another's; any message may come again at any time; the clock may run past a deadline before its timer
 * fires; and every step is the first of a new run, restored from JSON.
 */
export function electionScope(name: string, options: ElectionScopeOptions): Scope<Node> {
  const { protocol = coordinatorElection, candidates, messages } = options;
  const restored = new WeakMap<Left, Snapshot<ElectionState>>();

  /** The next run, from the JSON that the last one left. */
  function resume({ left, ...stand }: Node): ObservedElection {
    const snapshot = left && (restored.get(left) ?? schema.parse(JSON.parse(JSON.stringify(left))));
    if (left && snapshot) restored.set(left, snapshot);
    return new ObservedElection(protocol, LAPSE_MS, { ...stand, snapshot });
  }

  function happen(label: string, node: Node, act: (run: ObservedElection) => Partial<Node>): Move<Node> {
    const run = resume(node);
    const changes = act(run);
    // What the log and the mirror hold has been read.
    const left: Left = { ...run.host.snapshot(), log: { head: run.head, events: [] }, mirror: { pending: [] } };
    return { label, next: { ...node, ...changes, seen: run.seen, left, head: run.head }, broken: [...run.broken] };
  }

  function send(node: Node, raw: Raw): Move<Node> {
    return happen(nameOf(raw), node, (run) => ({ sent: [...node.sent, run.send(raw)] }));
  }

  /** The messages that a candidate may send now for the first time. */
  function* fresh({ sent, seen: { epoch, elected } }: Node): Iterable<Raw> {
    if (sent.length > messages) return;
    const taken = new Set(sent.map(({ raw }) => nameOf(raw)));
    for (const from of candidates) {
      const message = (id: string, verb: string, more: { readonly [field: string]: Json } = {}): Raw[] =>
        taken.has(`${from} ${id}`) ? [] : [{ type: `coordinator.${verb}`, id, from, ts: '', ...more }];
      const joined = taken.has(`${from} join1`);
      yield* message(joined ? 'join2' : 'join1', 'join');
      if (joined) yield* message('leave', 'leave');
      const own = Object.keys(elected).filter((each) => elected[Number(each)] === from);
      for (const at of own.map(Number)) {
        yield* message(`heartbeat${at}`, 'heartbeat', { epoch: at });
        yield* message(`resign${at}`, 'resign', { epoch: at });
        yield* message(`directive${at}`, 'directive', { epoch: at, directive: null });
      }
      // Every epoch is in the log: an agent may take it for its own.
      if (elected[epoch] !== from) yield* message(`directive${epoch}`, 'directive', { epoch, directive: null });
    }
  }

  return {
    name,
    start() {
      const empty: Node = { left: undefined, head: 0, now: 0, sent: [], seen: NOTHING_SEEN };
      const raw = { type: 'coordinator.join', id: 'join1', ts: '', heartbeat_seconds: LAPSE_MS / 3_000 };
      // Neither the lowest nor the highest: it is there first.
      return send(empty, { ...raw, from: candidates[1] ?? '' });
    },
    *moves(node) {
      const due = resume(node).host.nextDeadline();
      const { leader } = node.seen;
      // A protocol that names no deadline does not stop the clock: a leadership is outlived by a tick.
      const lasts = due ? due.at > node.now : leader !== null && node.now <= leader.heartbeatAt + LAPSE_MS;
      if (lasts) yield { label: 'a tick passes', next: { ...node, now: node.now + TICK_MS }, broken: [] };
      if (due && due.at <= node.now) yield happen('the timer fires', node, (run) => (run.tick(), {}));
      for (const raw of fresh(node)) yield send(node, raw);
      for (const sent of node.sent) yield happen(`${nameOf(sent.raw)}, again`, node, (run) => (run.repeat(sent), {}));
    },
    key: keyOf,
  };
}

function nameOf({ from, id }: Raw): string {
  return `${from} ${id}`;
}

/**
 * The state with its times as they are from now, and without what no rule reads: numbers of the log, counters, when
 * things were decided. How long ago somebody lapsed makes no difference.
 */
function keyOf({ left, now, seen, sent }: Node): string {
  const { epoch, leader, gone, candidates } = electionState.parse(left?.state);
  const { recent, spared, pinned } = schema.shape.memory.parse(left?.memory);
  const ago = (at: number) => Math.min(now - at, LAPSE_MS);
  const decided = [...recent, ...spared, ...pinned].map(([identity, , verdict]) => [identity, ...verdict].join(' '));
  const parts = {
    epoch,
    leader: leader ? [leader.coordinator, ago(leader.heard_at)] : [],
    gone: gone ? [gone.type, gone.coordinator] : [],
    candidates: candidates.map(([candidate, at]) => [candidate, ago(at)]),
    seen: {
      ...seen,
      leader: seen.leader ? [seen.leader.coordinator, ago(seen.leader.heartbeatAt)] : [],
      active: Object.fromEntries(Object.entries(seen.active).map(([candidate, at]) => [candidate, ago(at)])),
    },
  };
  const lists = [decided, sent.map(({ raw }) => nameOf(raw))].map((list) => [...list].sort().join());
  return [canonicalJson(json.parse(parts)), ...lists].join('\n');
}
