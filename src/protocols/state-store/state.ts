import { z } from 'zod';
import { json } from '../../envelope/fields.ts';
import { utf8Bytes } from '../../envelope/limits.ts';

const entry = z.object({
  value: json,
  /** The store's revision at its last write. */
  version: z.number(),
  /** Who wrote it last, and when, epoch milliseconds. */
  by: z.string(),
  at: z.number(),
  /** How long it lasts after a write, and when it ends, milliseconds. */
  ttl_ms: z.number().optional(),
  until: z.number().optional(),
  /** The lock whose holders alone may write it, and the highest token seen. */
  bound: z.object({ lock_id: z.string(), token: z.number() }).optional(),
});
export type Entry = z.infer<typeof entry>;

/** A namespace of keys. Its entries are in the order of their keys' code units, no key twice. */
export const storeState = z.object({
  namespace: z.string().optional(),
  /** The number of the latest write: only rises, also over keys that were deleted. */
  revision: z.number(),
  entries: z.array(z.tuple([z.string(), entry])),
  /** The bytes that the entries take as JSON. */
  bytes: z.number(),
  /** When the next key expires; absent where none does. */
  next_expiry: z.number().optional(),
});
export type StoreState = z.infer<typeof storeState>;

/** Bytes of JSON of everything but the entries, at most. */
const FRAME_BYTES = 1_024;

/** An upper bound of the bytes of a state's JSON. */
export function sizeOf({ bytes }: StoreState): number {
  return bytes + FRAME_BYTES;
}

/** Where a key is among the entries, or would be. */
function placeOf({ entries }: StoreState, key: string): { readonly at: number; readonly found: boolean } {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((entries[middle]?.[0] ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return { at: low, found: entries[low]?.[0] === key };
}

export function entryOf(state: StoreState, key: string): Entry | undefined {
  const { at, found } = placeOf(state, key);
  return found ? state.entries[at]?.[1] : undefined;
}

/** A state with one key's entry in the place of what it had; without the key where there is none. The revision is not touched. */
export function withEntry(state: StoreState, key: string, next: Entry | undefined): StoreState {
  const { at, found } = placeOf(state, key);
  const before = found ? state.entries[at]?.[1] : undefined;
  const entries = state.entries.toSpliced(at, found ? 1 : 0, ...(next ? [[key, next] satisfies [string, Entry]] : []));
  const bytes = state.bytes - (before ? bytesOf(key, before) : 0) + (next ? bytesOf(key, next) : 0);
  const { next_expiry: first, ...rest } = state;
  // Only where the first to expire has gone must the others be looked through.
  const expiry =
    before?.until !== undefined && before.until === first ? firstExpiry(entries) : earlier(first, next?.until);
  return { ...rest, entries, bytes, ...(expiry === undefined ? {} : { next_expiry: expiry }) };
}

/** The entries from the first whose key comes after `after` and begins with `prefix`. */
export function* entriesFrom(state: StoreState, prefix: string, after: string | undefined): Generator<[string, Entry]> {
  const from = after !== undefined && after >= prefix ? after : prefix;
  for (let { at } = placeOf(state, from); at < state.entries.length; at++) {
    const each = state.entries[at];
    if (!each || !each[0].startsWith(prefix)) return;
    if (each[0] !== after) yield each;
  }
}

function bytesOf(key: string, each: Entry): number {
  return utf8Bytes(JSON.stringify([key, each])) + 1;
}

function firstExpiry(entries: StoreState['entries']): number | undefined {
  return entries.reduce<number | undefined>((first, [, { until }]) => earlier(first, until), undefined);
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}
