import { createHash } from 'node:crypto';

/** One thing that can happen in a state. */
export interface Move<Node> {
  readonly label: string;
  readonly next: Node;
  /** What it breaks, by name. */
  readonly broken: readonly string[];
}

/** A finite world: its first state, all that can happen in each, and which states are the same. */
export interface Scope<Node> {
  readonly name: string;
  start(): Move<Node>;
  moves(node: Node): Iterable<Move<Node>>;
  /** Two states of one key have the same future. */
  key(node: Node): string;
}

export interface Limits {
  /** States after which it gives up, not exhausted. */
  readonly maxStates: number;
  /** Ends at the first state that breaks this property, not exhausted (default: none). */
  readonly stopAt?: string;
  readonly onProgress?: (states: number, transitions: number, waiting: number) => void;
}

/** A property that was broken, and the shortest way to it. */
export interface Violation {
  readonly property: string;
  readonly path: readonly string[];
}

export interface Result {
  readonly name: string;
  readonly states: number;
  readonly transitions: number;
  /** Every state that can be reached was. */
  readonly exhausted: boolean;
  readonly violations: number;
  /** The first of each property. */
  readonly examples: readonly Violation[];
}

const PROGRESS_EVERY = 10_000;

/** Visits every state that can be reached, the nearest first, so that the way to a violation is the shortest. */
export function explore<Node>(scope: Scope<Node>, { maxStates, stopAt, onProgress }: Limits): Result {
  const visited = new Set<string>();
  /** How each state was first reached: from which, and by what. */
  const origins: { readonly from: number; readonly label: string }[] = [];
  const examples = new Map<string, Violation>();
  let violations = 0;
  let transitions = 0;
  let exhausted = true;
  let layer: { node: Node; index: number }[] = [];

  function reach({ label, next, broken }: Move<Node>, from: number, into: typeof layer): void {
    for (const property of broken) {
      violations += 1;
      if (!examples.has(property)) examples.set(property, { property, path: [...pathTo(from), label] });
    }
    const key = digest(scope.key(next));
    if (visited.has(key)) return;
    if (visited.size >= maxStates) {
      exhausted = false;
      return;
    }
    visited.add(key);
    origins.push({ from, label });
    // What is broken is not looked into any further: all that follows would be broken, too.
    if (broken.length === 0) into.push({ node: next, index: origins.length - 1 });
    if (visited.size % PROGRESS_EVERY === 0) onProgress?.(visited.size, transitions, into.length);
  }

  function pathTo(index: number): string[] {
    const path: string[] = [];
    for (let at = origins[index]; at; at = origins[at.from]) path.unshift(at.label);
    return path;
  }

  reach(scope.start(), -1, layer);
  const stopped = (): boolean => stopAt !== undefined && examples.has(stopAt);
  while (layer.length > 0 && !stopped()) {
    const next: typeof layer = [];
    for (const { node, index } of layer) {
      if (stopped()) break;
      for (const move of scope.moves(node)) {
        transitions += 1;
        reach(move, index, next);
      }
    }
    layer = next;
  }
  return {
    name: scope.name,
    states: visited.size,
    transitions,
    exhausted: exhausted && !stopped(),
    violations,
    examples: [...examples.values()],
  };
}

/** 96 bits of a hash in place of a long key: a hundred thousand times more than the states need to stay apart. */
function digest(key: string): string {
  return createHash('sha256').update(key).digest('base64').slice(0, 16);
}
