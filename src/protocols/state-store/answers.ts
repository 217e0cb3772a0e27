import { formatTimestamp, type Json } from '../../envelope/fields.ts';
import { utf8Bytes } from '../../envelope/limits.ts';
import type { StateMessage } from '../../envelope/state.ts';
import type { Outgoing, Verdict } from '../protocol.ts';
import { entriesFrom, entryOf, type Entry, type StoreState } from './state.ts';

type Message<Verb extends string> = Extract<StateMessage, { type: `state.${Verb}` }>;

/** Bytes of values that one page holds at most, so that an answer stays within an envelope. */
const MAX_PAGE_BYTES = 12_000;

/** The replies that a verdict stands for. What is transient reads the state as it is. */
export function answer(message: StateMessage, verdict: Verdict, state: StoreState): readonly Outgoing[] {
  const to = message.from;
  const { namespace } = message;
  const [kind, number, ...rest] = verdict;
  switch (message.type) {
    case 'state.get':
      return [got(message, state)];
    case 'state.list':
      return [page(message, state)];
    case 'state.txn':
      return kind === 'committed'
        ? [{ type: 'state.committed', to, namespace, revision: Number(number), versions: versionsOf(message, rest) }]
        : [{ type: 'state.conflict', to, namespace, failed: failedOf(message, state) }];
    case 'state.lease':
      return [{ type: 'state.bound', to, namespace, key: message.key, version: Number(number) }];
    default: {
      const about = { to, namespace, key: message.key };
      if (kind === 'conflict') return [{ type: 'state.conflict', ...about, ...headOf(entryOf(state, message.key)) }];
      if (kind === 'deleted') return [{ type: 'state.deleted', ...about, version: Number(number) }];
      const [until] = rest;
      const ends = typeof until === 'number' ? { expires_at: formatTimestamp(until) } : {};
      return [{ type: 'state.stored', ...about, version: Number(number), ...ends }];
    }
  }
}

/** What became of a write since it was answered: the key's version of now, where another has written it. */
export function since(state: StoreState, message: StateMessage, [kind, version]: Verdict): readonly Outgoing[] {
  if (message.type !== 'state.put' || kind !== 'stored') return [];
  const head = entryOf(state, message.key);
  if (head?.version === version) return [];
  const about = { type: 'state.changed', to: message.from, namespace: message.namespace, key: message.key };
  return [head ? { ...about, version: head.version, last_modified_by: head.by } : { ...about, deleted: true }];
}

/** A key's entry as it is read. */
export function shown(key: string, entry: Entry): { [field: string]: Json } {
  return {
    key,
    value: entry.value,
    version: entry.version,
    last_modified_by: entry.by,
    last_modified_at: formatTimestamp(entry.at),
    ttl_seconds: entry.ttl_ms === undefined ? null : entry.ttl_ms / 1000,
    ...(entry.until === undefined ? {} : { expires_at: formatTimestamp(entry.until) }),
    ...(entry.bound ? { bound_to: entry.bound.lock_id, token: entry.bound.token } : {}),
  };
}

/** What a key is now, for who expected something else. Version 0: it does not exist. */
function headOf(entry: Entry | undefined): { [field: string]: Json } {
  if (!entry) return { version: 0 };
  return {
    version: entry.version,
    value: entry.value,
    last_modified_by: entry.by,
    last_modified_at: formatTimestamp(entry.at),
  };
}

function versionsOf({ writes }: Message<'txn'>, versions: Verdict[number][]): { [key: string]: Json } {
  return Object.fromEntries(writes.map(({ key }, i) => [key, Number(versions[i] ?? 0)]));
}

function failedOf({ checks }: Message<'txn'>, state: StoreState): Json[] {
  return checks.flatMap(({ key, version }) => {
    const head = entryOf(state, key)?.version ?? 0;
    return head === version ? [] : [{ key, version: head, expected: version }];
  });
}

/** The entries that fit, in the order asked for; `left` are the keys to ask for again. */
function got({ from, namespace, keys }: Message<'get'>, state: StoreState): Outgoing {
  const entries: Json[] = [];
  const left: string[] = [];
  let room = MAX_PAGE_BYTES;
  for (const key of new Set(keys)) {
    const entry = entryOf(state, key);
    if (!entry) continue;
    const each = shown(key, entry);
    room -= utf8Bytes(JSON.stringify(each));
    if (room < 0 && entries.length > 0) left.push(key);
    else entries.push(each);
  }
  return {
    type: 'state.values',
    to: from,
    namespace,
    entries,
    ...(left.length > 0 ? { left } : {}),
    revision: state.revision,
  };
}

function page({ from, namespace, prefix = '', after, limit, values }: Message<'list'>, state: StoreState): Outgoing {
  const entries: Json[] = [];
  let room = MAX_PAGE_BYTES;
  let last: string | undefined;
  let next: string | undefined;
  for (const [key, entry] of entriesFrom(state, prefix, after)) {
    const { value, ...rest } = shown(key, entry);
    const each: { [field: string]: Json } = values ? { ...rest, value: value ?? null } : rest;
    room -= utf8Bytes(JSON.stringify(each));
    if (entries.length === limit || (room < 0 && entries.length > 0)) {
      next = last;
      break;
    }
    entries.push(each);
    last = key;
  }
  return {
    type: 'state.page',
    to: from,
    namespace,
    entries,
    ...(next === undefined ? {} : { next }),
    revision: state.revision,
  };
}
