import { MAX_HANDOVER_BYTES, utf8Bytes } from '../envelope/limits.ts';
import type { LogSnapshot } from './log.ts';
import type { Snapshot } from './snapshot.ts';

/** A snapshot as it is handed over. */
export type HandOver<S> = { readonly [Key in keyof Snapshot<S>]: unknown };

/**
 * A snapshot within {@link MAX_HANDOVER_BYTES}. Each part keeps a budget of its own (`src/envelope/limits.ts`), and together they
 * fit. What an earlier version left may be larger: then the oldest entries of the log go, which readers see as `truncated`,
 * since a run that cannot hand over answers nobody any more.
 */
export function withinBudget<S>(snapshot: HandOver<S> & { readonly log: LogSnapshot }): HandOver<S> {
  const excess = bytesOf(snapshot) - MAX_HANDOVER_BYTES;
  if (excess <= 0) return snapshot;
  const { head, events } = snapshot.log;
  let evicted = 0;
  for (let bytes = 0; bytes < excess && evicted < events.length; evicted++) bytes += bytesOf(events[evicted] ?? {}) + 1;
  return { ...snapshot, log: { head, events: events.slice(evicted) } };
}

function bytesOf(value: object): number {
  return utf8Bytes(JSON.stringify(value));
}
