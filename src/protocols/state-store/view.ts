import type { Json } from '../../envelope/fields.ts';
import { clock, plain } from '../../envelope/plain.ts';
import { shown } from './answers.ts';
import type { StoreState } from './state.ts';

/** Keys that a view shows beside their count. */
const MAX_SHOWN = 1_000;

/** The public state. Values are not shown here: a view is for operators, and a value may be nobody else's business. */
export function viewOf(state: StoreState): { [field: string]: Json } {
  const entries = state.entries.slice(0, MAX_SHOWN).map(([key, entry]) => {
    const { value: _, ...rest } = shown(key, entry);
    return rest;
  });
  return {
    status: state.namespace === undefined ? 'unopened' : 'open',
    ...(state.namespace === undefined ? {} : { namespace: state.namespace }),
    revision: state.revision,
    keys_count: state.entries.length,
    bytes: state.bytes,
    keys: entries,
  };
}

export function detailsOf({ namespace, entries, revision, next_expiry: at }: StoreState): string {
  if (namespace === undefined) return 'Nothing has been written yet.';
  const expiry = at === undefined ? '' : ` The next key expires at ${clock(at)}.`;
  return `Namespace "${plain(namespace)}": ${entries.length} keys, revision ${revision}.${expiry}`;
}
