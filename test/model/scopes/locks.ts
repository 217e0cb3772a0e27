import type { LockMessage, LockType } from '../../../src/envelope/lock.ts';
import { lockMessages } from '../../../src/envelope/lock.ts';
import { lockManager } from '../../../src/protocols/lock/protocol.ts';
import { noPast } from '../../../src/protocols/lock/past.ts';
import { lockState, type Lock, type LockState } from '../../../src/protocols/lock/state.ts';
import type { Context, Decision, Input, Outgoing, Protocol, Verdict } from '../../../src/protocols/protocol.ts';
import type { Move, Scope } from '../explore.ts';

const TICK_MS = 1_000;
const CONFIG = { rollback_seconds: TICK_MS / 1000 };
const TOGETHER = new Set(['read read', 'read write', 'write read']);

export interface LockScopeOptions {
  readonly agents: readonly string[];
  readonly resources: readonly string[];
  readonly kinds: readonly LockType[];
  /** Locks that are held, waited for or rolled back at the same time. */
  readonly locks: number;
  /** Requests for all resources together, too. */
  readonly sets: boolean;
  /** How long leases and waits are, in ticks of the clock. A rollback has one. */
  readonly leaseTicks: number;
  readonly waitTicks: number;
  readonly protocol?: Protocol<LockState, LockMessage>;
}

/** The state as JSON, the effects under way, and the clock. */
interface Node {
  readonly state: LockState;
  /** The ids of the locks whose rollbacks run. */
  readonly rollbacks: readonly string[];
  readonly now: number;
  /** The highest token so far. */
  readonly token: number;
}

/**
 * Locks without an end: every agent asks, renews, releases and cancels whatever it can, rollbacks end or fail, the clock may run past a
 * deadline before its timer fires, and every step begins from the JSON that the last one left. What is remembered of the past
 * (retries, cancels that came early) is left out: it never decides who holds what.
 */
export function lockScope(name: string, options: LockScopeOptions): Scope<Node> {
  const { agents, resources, kinds, protocol = lockManager } = options;
  const faces = facesOf(options);
  const sets = [...resources.map((each) => [each]), ...(options.sets ? [[...resources]] : [])];

  function happen(label: string, node: Node, input: Input<LockMessage>): Move<Node>[] {
    const { now } = node;
    const context: Context = {
      now,
      room: 'lab',
      workflowId: 'synod:lab:locks',
      config: CONFIG,
      revision: 2,
      decided: () => true,
    };
    const decision = protocol.decide(node.state, input, context);
    // Nothing has changed.
    if ('refuse' in decision) return [];
    const broken = faults(node, decision, input);
    const started = (decision.effects ?? []).flatMap(({ name: what, input: about }) =>
      what === 'rollback' && typeof about['lock_id'] === 'string' ? [about['lock_id']] : [],
    );
    const ended = input.kind === 'effect' ? input.input['lock_id'] : undefined;
    const running = [...node.rollbacks.filter((id) => id !== ended), ...started];
    // One whose time has passed decides nothing any more: a single one of them is kept for all.
    const loose = running.filter((id) => decision.state.lockOf(id)?.phase !== 'rolling').slice(-1);
    const rollbacks = running.filter((id) => decision.state.lockOf(id)?.phase === 'rolling' || loose.includes(id));
    const state = lockState.parse(
      JSON.parse(JSON.stringify(decision.state.with({ past: noPast, effects: { rollback: 0, escalate: 0 } }))),
    );
    return [{ label, next: { ...node, state, rollbacks, token: Math.max(node.token, state.token) }, broken }];
  }

  function send(node: Node, type: keyof typeof lockMessages, from: string, fields: object): Move<Node>[] {
    const schema = lockMessages[type];
    const message = schema.parse({ type, id: `m${node.state.issued}`, ts: '', from, ...fields });
    return happen(`${from} ${type} ${JSON.stringify(fields)}`, node, { kind: 'message', message });
  }

  /** The node after the timer, where it is due: nothing is decided before what has expired. */
  function* timer(node: Node): Iterable<Move<Node>> {
    const due = protocol.nextDeadline(node.state);
    if (due && due.at <= node.now) yield* happen('the timer fires', node, { kind: 'deadline' });
  }

  return {
    name,
    start: () => ({ label: 'start', next: { state: protocol.initial(), rollbacks: [], now: 0, token: 0 }, broken: [] }),
    *moves(node) {
      const fired = [...timer(node)];
      if (fired.length > 0) return yield* fired;
      const { state } = node;
      const locks = [...state.locks.entries()].map(([, lock]) => lock);
      if (locks.length > 0) yield { label: 'a tick passes', next: { ...node, now: node.now + TICK_MS }, broken: [] };
      for (const from of agents) {
        if (locks.length < options.locks) {
          for (const lock_type of kinds) {
            for (const set of sets) {
              const request = { resources: set, lock_type, lease_seconds: (options.leaseTicks * TICK_MS) / 1000 };
              yield* send(node, 'lock.request', from, {
                ...request,
                wait_seconds: (options.waitTicks * TICK_MS) / 1000,
              });
            }
          }
        }
        for (const lock of locks) {
          const about = { lock_id: state.idOf(lock) };
          for (const type of ['lock.release', 'lock.renew', 'lock.cancel'] as const)
            yield* send(node, type, from, about);
        }
      }
      for (const id of node.rollbacks) {
        const effect = { kind: 'effect', name: 'rollback', key: id, input: { lock_id: id } } as const;
        yield* happen(`the rollback of ${id} ends`, node, effect);
        yield* happen(`the rollback of ${id} fails`, node, { ...effect, failure: 'Error: no' });
      }
    },
    key: (node) => keyOf(node, faces),
  };
}

function conflict(a: Lock, b: Lock): boolean {
  return a.resources.some((each) => b.resources.includes(each)) && !TOGETHER.has(`${a.kind} ${b.kind}`);
}

function before(a: Lock, b: Lock): boolean {
  return order(a, b) < 0;
}

function order(a: Lock, b: Lock): number {
  return a.priority - b.priority || a.since - b.since || b.scope - a.scope || a.n - b.n;
}

/** What a decision breaks, found by looking at every pair of locks. */
function faults(
  { state: was, now, token }: Node,
  decision: Exclude<Decision<LockState>, { refuse: unknown }>,
  input: Input<LockMessage>,
): string[] {
  const { state, verdict, emit = [] } = decision;
  const locks = [...state.locks.entries()].map(([, lock]) => lock);
  const held = locks.filter(({ phase }) => phase !== 'waiting' && phase !== 'owed');
  const waiting = locks.filter(({ phase }) => phase === 'waiting');
  const earlier = [...was.locks.entries()].map(([, lock]) => lock);
  const broken: string[] = [];
  const granted = held.filter(({ n, phase }) => phase === 'held' && was.locks.get(n)?.phase !== 'held');
  // What an agent holds beside its own is no conflict, unless it came by it while a rollback held that.
  const own = (a: Lock, b: Lock) =>
    a.agent === b.agent &&
    ![a, b].some((each) => granted.includes(each) && [a, b].some(({ phase }) => phase !== 'held'));
  for (const [i, a] of held.entries())
    if (held.slice(i + 1).some((b) => !own(a, b) && conflict(a, b)))
      broken.push('only what is compatible is held together');
  if (waiting.some((a) => ![...held, ...waiting.filter((b) => before(b, a))].some((b) => conflict(a, b))))
    broken.push('nobody is forgotten');
  for (const a of granted) {
    if (waiting.some((b) => before(b, { ...a, since: was.locks.get(a.n)?.since ?? now }) && conflict(a, b)))
      broken.push('nobody is overtaken');
    if (a.token <= token) broken.push('the token only rises');
  }
  const expired = earlier.filter(({ phase, until }) => phase === 'held' && until <= now);
  // A time-out of its agent may have released it at the same instant.
  const lost = expired.filter(({ n }) =>
    emit.some(({ type, lock_id: id }) => type === 'lock.expired' && id === state.idOf({ n })),
  );
  if (granted.some((a) => lost.some((b) => conflict(a, b)))) broken.push('only what is compatible is held together');
  if (input.kind === 'deadline' && locks.some(({ phase, until }) => phase !== 'owed' && until <= now))
    broken.push('every deadline progresses');
  for (const lock of earlier.filter(({ phase }) => phase === 'waiting')) {
    const left = state.locks.get(lock.n)?.phase !== 'waiting';
    if (terminals(was.idOf(lock), emit, verdict) !== (left ? 1 : 0)) broken.push('one terminal answer');
  }
  if (
    earlier.some(
      ({ n, phase, until }) => phase === 'held' && until > now && input.kind === 'deadline' && lostEarly(n, state),
    )
  )
    broken.push('nothing ends early');
  return broken;
}

function lostEarly(n: number, state: LockState): boolean {
  const phase = state.locks.get(n)?.phase;
  return phase === 'pending' || phase === 'rolling' || phase === 'owed';
}

function terminals(id: string, emit: readonly Outgoing[], verdict: Verdict | undefined): number {
  const ends = emit.filter(
    ({ type, lock_id: about }) => about === id && (type === 'lock.granted' || type === 'lock.denied'),
  );
  return ends.length + (verdict?.[0] === 'cancelled' && verdict[1] === id ? 1 : 0);
}

/** Ways to exchange what is alike: for each agent and set of resources, its name in that way. */
function facesOf({ agents, resources }: LockScopeOptions): Map<string, string>[] {
  return permutations(agents).flatMap((people) =>
    permutations(resources).map((things) => {
      const names = new Map(people.map((agent, i) => [agent, `${i}`]));
      for (const set of subsets(resources)) {
        const places = set.map((each) => things.indexOf(each)).sort((a, b) => a - b);
        names.set(set.join('+'), places.join('+'));
      }
      return names;
    }),
  );
}

/** The locks in their order with their times from now on; alike agents and resources may change places. */
function keyOf({ state, rollbacks, now }: Node, faces: readonly Map<string, string>[]): string {
  const locks = [...state.locks.entries()].map(([, lock]) => lock).sort(order);
  const parts = locks.map((lock) => {
    // Since when it is so decides only about the turn of who waits.
    const turn = lock.phase === 'waiting' ? now - lock.since : '';
    const rolls = rollbacks.includes(state.idOf(lock)) ? 'r' : '';
    const rest = `${lock.kind} ${lock.phase} ${lock.until - now} ${turn} ${rolls}`;
    return { agent: lock.agent, on: lock.resources.join('+'), rest };
  });
  const texts = faces.map((names) =>
    parts.map(({ agent, on, rest }) => `${names.get(agent)} ${names.get(on)} ${rest}`).join('\n'),
  );
  const loose = rollbacks.filter((id) => !state.lockOf(id)).length;
  return `${texts.sort()[0] ?? ''}\n${loose}`;
}

function subsets(names: readonly string[]): string[][] {
  return names.reduce<string[][]>((sets, name) => [...sets, ...sets.map((set) => [...set, name])], [[]]);
}

function permutations(names: readonly string[]): string[][] {
  if (names.length === 0) return [[]];
  return names.flatMap((name) => permutations(names.filter((each) => each !== name)).map((rest) => [name, ...rest]));
}
