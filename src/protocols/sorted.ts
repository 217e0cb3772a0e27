interface Node<K, V> {
  readonly key: K;
  readonly value: V;
  readonly size: number;
  readonly left: Node<K, V> | undefined;
  readonly right: Node<K, V> | undefined;
}
type Tree<K, V> = Node<K, V> | undefined;

/** A side may hold so many times as much as the other; and how much of it must be on the inside to turn twice. */
const MAX_RATIO = 3;
const INNER_RATIO = 2;

/** Below 0 where `a` comes first, 0 where they are the same key. */
export type Order<K> = (a: K, b: K) => number;

/**
 * A sorted map that never changes: every change gives another map, which shares all but a path of nodes with this one.
 * A weight-balanced tree (Nievergelt and Reingold), so that changes, the first key from somewhere on and the number of keys before one
 * cost the logarithm of the size.
 */
export class Sorted<K, V> {
  readonly order: Order<K>;
  readonly root: Tree<K, V>;

  constructor(order: Order<K>, root?: Tree<K, V>) {
    this.order = order;
    this.root = root;
  }

  get size(): number {
    return sizeOf(this.root);
  }

  /** The same entries under an equivalent order. */
  ordered(order: Order<K>): Sorted<K, V> {
    return new Sorted(order, this.root);
  }

  get(key: K): V | undefined {
    let node = this.root;
    while (node) {
      const side = this.order(key, node.key);
      if (side === 0) return node.value;
      node = side < 0 ? node.left : node.right;
    }
    return undefined;
  }

  set(key: K, value: V): Sorted<K, V> {
    return new Sorted(this.order, inserted(this.root, key, value, this.order));
  }

  /** Without the key; the same map where it has none. */
  delete(key: K): Sorted<K, V> {
    const root = deleted(this.root, key, this.order);
    return root === this.root ? this : new Sorted(this.order, root);
  }

  /** The first entry that does not come before `key`, or the very first. */
  first(key?: K): readonly [K, V] | undefined {
    let found: Tree<K, V>;
    let node = this.root;
    while (node) {
      const before = key !== undefined && this.order(node.key, key) < 0;
      if (!before) found = node;
      node = before ? node.right : node.left;
    }
    return found && [found.key, found.value];
  }

  /** How many keys come before `key`. */
  rank(key: K): number {
    let before = 0;
    let node = this.root;
    while (node) {
      const right = this.order(node.key, key) < 0;
      if (right) before += sizeOf(node.left) + 1;
      node = right ? node.right : node.left;
    }
    return before;
  }

  /** The entries in order, from the first that does not come before `key`. */
  *entries(key?: K): Generator<readonly [K, V]> {
    const path: Node<K, V>[] = [];
    let node = this.root;
    while (node ?? path.length > 0) {
      while (node) {
        const before: boolean = key !== undefined && this.order(node.key, key) < 0;
        if (!before) path.push(node);
        node = before ? node.right : node.left;
      }
      const next = path.pop();
      if (!next) return;
      yield [next.key, next.value];
      node = next.right;
    }
  }
}

function sizeOf<K, V>(node: Tree<K, V>): number {
  return node ? node.size : 0;
}

function join<K, V>(left: Tree<K, V>, key: K, value: V, right: Tree<K, V>): Node<K, V> {
  return { key, value, size: sizeOf(left) + sizeOf(right) + 1, left, right };
}

/** Joins two sides of which one has grown or shrunk by one. */
function balanced<K, V>(left: Tree<K, V>, key: K, value: V, right: Tree<K, V>): Node<K, V> {
  const [l, r] = [sizeOf(left), sizeOf(right)];
  if (l + r <= 1) return join(left, key, value, right);
  if (right && r > MAX_RATIO * l) {
    const { left: inner, right: outer } = right;
    if (!inner || sizeOf(inner) < INNER_RATIO * sizeOf(outer))
      return join(join(left, key, value, inner), right.key, right.value, outer);
    return join(
      join(left, key, value, inner.left),
      inner.key,
      inner.value,
      join(inner.right, right.key, right.value, outer),
    );
  }
  if (left && l > MAX_RATIO * r) {
    const { left: outer, right: inner } = left;
    if (!inner || sizeOf(inner) < INNER_RATIO * sizeOf(outer))
      return join(outer, left.key, left.value, join(inner, key, value, right));
    return join(
      join(outer, left.key, left.value, inner.left),
      inner.key,
      inner.value,
      join(inner.right, key, value, right),
    );
  }
  return join(left, key, value, right);
}

function inserted<K, V>(node: Tree<K, V>, key: K, value: V, order: Order<K>): Node<K, V> {
  if (!node) return join(undefined, key, value, undefined);
  const side = order(key, node.key);
  if (side < 0) return balanced(inserted(node.left, key, value, order), node.key, node.value, node.right);
  if (side > 0) return balanced(node.left, node.key, node.value, inserted(node.right, key, value, order));
  return join(node.left, key, value, node.right);
}

function deleted<K, V>(node: Tree<K, V>, key: K, order: Order<K>): Tree<K, V> {
  if (!node) return undefined;
  const side = order(key, node.key);
  if (side === 0) return glued(node.left, node.right);
  const [from, to] =
    side < 0 ? [node.left, deleted(node.left, key, order)] : [node.right, deleted(node.right, key, order)];
  if (from === to) return node;
  return side < 0 ? balanced(to, node.key, node.value, node.right) : balanced(node.left, node.key, node.value, to);
}

function glued<K, V>(left: Tree<K, V>, right: Tree<K, V>): Tree<K, V> {
  if (!left || !right) return left ?? right;
  let least = right;
  while (least.left) least = least.left;
  return balanced(left, least.key, least.value, withoutFirst(right));
}

function withoutFirst<K, V>(node: Node<K, V>): Tree<K, V> {
  return node.left ? balanced(withoutFirst(node.left), node.key, node.value, node.right) : node.right;
}
