import { sha256Hex } from '../envelope/canonical.ts';
import { IDENTITIES_A_SENDER, MAX_IDENTITIES, MAX_IDENTITY_BYTES, MAX_SENDERS, utf8Bytes } from '../envelope/limits.ts';
import type { Verdict } from '../protocols/protocol.ts';

/** What is remembered of a message that was decided: enough to know it again and to rebuild its first answer. */
export interface Memo {
  /** A digest of the body. */
  readonly body: string;
  readonly verdict: Verdict;
  /** The log number that follows the message's; 0 where the message was not logged. */
  readonly seq: number;
  /** When it was decided, epoch milliseconds. */
  readonly at: number;
}

type Entry = readonly [identity: string, body: string, verdict: Verdict, seq: number, at: number];

export interface MemorySnapshot {
  readonly recent: readonly Entry[];
  readonly spared: readonly Entry[];
  readonly pinned: readonly Entry[];
  /** Follow from the entries; always empty, for the earlier versions that read it. */
  readonly senders: readonly unknown[];
}

/** An identity as a map's key. An agent id holds no space, so no two identities have the same key. */
export function identityKey(from: string, key: string): string {
  return `${from} ${key}`;
}

function senderOf(identity: string): string {
  return identity.slice(0, identity.indexOf(' '));
}

/** A pinned identity longer than this, in bytes, is kept as a digest, so that a thousand of the longest fit into a state. */
const MAX_PINNED_KEY_BYTES = 64;
const DIGEST_DIGITS = 32;

/** An identity as it is pinned. A digest holds no space, so it is no other identity's key. */
function pinnedKey(identity: string): string {
  return utf8Bytes(identity) <= MAX_PINNED_KEY_BYTES ? identity : sha256Hex(identity).slice(0, DIGEST_DIGITS);
}

/**
 * The identities that a workflow has decided: the latest of all, the latest of each of the senders last active, and those
 * that the protocol pinned, which are part of its state for good.
 */
export class Memory {
  readonly #recent = new Map<string, Memo>();
  /** Evicted from the recent ones, and kept as the latest of an active sender; `spared` in the snapshot. */
  readonly #latestOfSenders = new Map<string, Memo>();
  readonly #pinned = new Map<string, Memo>();
  /** The latest identities of each sender, the sender last active last. */
  readonly #senders = new Map<string, readonly string[]>();
  #bytes = 0;
  #pinnedBytes = 0;

  constructor(snapshot?: MemorySnapshot) {
    if (!snapshot) return;
    for (const entry of snapshot.recent) this.#bytes += load(this.#recent, entry);
    for (const entry of snapshot.spared) this.#bytes += load(this.#latestOfSenders, entry);
    for (const [identity, ...rest] of snapshot.pinned)
      this.#pinnedBytes += load(this.#pinned, [pinnedKey(identity), ...rest]);
    for (const identity of [...this.#latestOfSenders.keys(), ...this.#recent.keys()])
      this.#noteSender(senderOf(identity), identity);
  }

  get size(): { identities: number; bytes: number; pinnedBytes: number } {
    return {
      identities: this.#recent.size + this.#latestOfSenders.size,
      bytes: this.#bytes,
      pinnedBytes: this.#pinnedBytes,
    };
  }

  recall(from: string, key: string): Memo | undefined {
    const identity = identityKey(from, key);
    return this.#pinned.get(pinnedKey(identity)) ?? this.#recent.get(identity) ?? this.#latestOfSenders.get(identity);
  }

  remember(from: string, key: string, memo: Memo, pin: boolean): void {
    const identity = identityKey(from, key);
    if (pin) {
      const short = pinnedKey(identity);
      this.#pinned.set(short, memo);
      this.#pinnedBytes += sizeOf(short, memo);
      return;
    }
    this.#recent.set(identity, memo);
    this.#bytes += sizeOf(identity, memo);
    this.#noteSender(from, identity);
    while (this.#recent.size > MAX_IDENTITIES) this.#evictOldest();
    while (this.#bytes > MAX_IDENTITY_BYTES) {
      const oldest = first(this.#latestOfSenders) ?? first(this.#recent);
      if (oldest === undefined) break;
      this.#drop(this.#latestOfSenders.has(oldest) ? this.#latestOfSenders : this.#recent, oldest);
    }
  }

  snapshot(): MemorySnapshot {
    return {
      recent: [...this.#recent].map(store),
      spared: [...this.#latestOfSenders].map(store),
      pinned: [...this.#pinned].map(store),
      senders: [],
    };
  }

  #noteSender(from: string, identity: string): void {
    const latest = this.#senders.get(from) ?? [];
    this.#senders.delete(from);
    this.#senders.set(from, [...latest, identity].slice(-IDENTITIES_A_SENDER));
    for (const old of latest.slice(0, latest.length + 1 - IDENTITIES_A_SENDER)) this.#drop(this.#latestOfSenders, old);
    if (this.#senders.size <= MAX_SENDERS) return;
    const quiet = first(this.#senders);
    if (quiet === undefined) return;
    for (const old of this.#senders.get(quiet) ?? []) this.#drop(this.#latestOfSenders, old);
    this.#senders.delete(quiet);
  }

  #evictOldest(): void {
    const oldest = first(this.#recent);
    const memo = oldest === undefined ? undefined : this.#recent.get(oldest);
    if (oldest === undefined || !memo) return;
    if (this.#senders.get(senderOf(oldest))?.includes(oldest)) {
      this.#recent.delete(oldest);
      this.#latestOfSenders.set(oldest, memo);
    } else this.#drop(this.#recent, oldest);
  }

  #drop(from: Map<string, Memo>, identity: string): void {
    const memo = from.get(identity);
    if (!memo) return;
    this.#bytes -= sizeOf(identity, memo);
    from.delete(identity);
  }
}

function first(map: ReadonlyMap<string, unknown>): string | undefined {
  const next = map.keys().next();
  return next.done ? undefined : next.value;
}

function store([identity, { body, verdict, seq, at }]: [string, Memo]): Entry {
  return [identity, body, verdict, seq, at];
}

function load(into: Map<string, Memo>, [identity, body, verdict, seq, at]: Entry): number {
  const memo = { body, verdict, seq, at };
  into.set(identity, memo);
  return sizeOf(identity, memo);
}

/** The bytes that an identity takes in the snapshot. */
function sizeOf(identity: string, memo: Memo): number {
  return utf8Bytes(JSON.stringify(store([identity, memo]))) + 1;
}
