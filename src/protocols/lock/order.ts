import type { LockType } from '../../envelope/lock.ts';

/** A waiter's place in the queue of one resource; the kinds of a resource queue beside each other. */
export interface Place {
  readonly resource: string;
  readonly kind: LockType;
  readonly priority: number;
  readonly at: number;
  readonly scope: number;
  readonly n: number;
}

export interface Holder {
  readonly resource: string;
  readonly kind: LockType;
  readonly n: number;
}

export interface Time {
  readonly at: number;
  readonly n: number;
}

export interface Owner {
  readonly agent: string;
  readonly n: number;
}

/** What the place of a waiting lock follows from. */
interface Waiting {
  readonly kind: LockType;
  readonly priority: number;
  readonly since: number;
  readonly scope: number;
  readonly n: number;
}

export const KINDS: readonly LockType[] = ['read', 'write', 'exclusive', 'permit'];

/** Which kinds share a resource. Of permits there are only so many, which is for who counts them. */
const SHARES: { readonly [kind in LockType]: readonly LockType[] } = {
  read: ['read', 'write'],
  write: ['read'],
  exclusive: [],
  permit: ['permit'],
};

/** Whether two locks of one resource may be held at the same time, whatever else is. */
export function share(a: LockType, b: LockType): boolean {
  return SHARES[a].includes(b);
}

/** The kinds that a lock of a kind may not be held beside. */
export const RIVALS: { readonly [kind in LockType]: readonly LockType[] } = {
  read: rivals('read'),
  write: rivals('write'),
  exclusive: rivals('exclusive'),
  permit: rivals('permit'),
};

function rivals(kind: LockType): readonly LockType[] {
  return KINDS.filter((other) => !share(kind, other));
}

function byText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Who comes first: priority, then arrival, then, within one workflow task, the broader scope, then the order of the log. */
export function byTurn(a: Omit<Place, 'resource' | 'kind'>, b: Omit<Place, 'resource' | 'kind'>): number {
  return a.priority - b.priority || a.at - b.at || b.scope - a.scope || a.n - b.n;
}

export function byPlace(a: Place, b: Place): number {
  return byText(a.resource, b.resource) || byText(a.kind, b.kind) || byTurn(a, b);
}

export function byHolder(a: Holder, b: Holder): number {
  return byText(a.resource, b.resource) || byText(a.kind, b.kind) || a.n - b.n;
}

export function byTime(a: Time, b: Time): number {
  return a.at - b.at || a.n - b.n;
}

export function byAgent(a: Owner, b: Owner): number {
  return byText(a.agent, b.agent) || a.n - b.n;
}

export function placeOf({ kind, priority, since, scope, n }: Waiting, resource: string): Place {
  return { resource, kind, priority, at: since, scope, n };
}

/** Before every place of a kind on a resource. */
export function firstPlace(resource: string, kind: LockType): Place {
  return { resource, kind, priority: 0, at: 0, scope: 0, n: 0 };
}
