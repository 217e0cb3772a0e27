import { z } from 'zod';
import { byName, fromNames, valueOf } from '../../envelope/byName.ts';

/** Records that a change does not touch are shared between two states; so many of them make a change cheap. */
const BUCKETS = 64;

/** A source as the state holds it, without names of fields, so that three thousand fit. */
export const packed = z.tuple([
  /** The last sequence number taken over from it. */
  z.number(),
  /** When it was started. */
  z.number().nullable(),
  /** Since when it is final. */
  z.number().nullable(),
  /** Its row: id (empty where the workflow id ends with it), kind, status, since, holder, priority, and capabilities. */
  z
    .tuple([z.string(), z.string(), z.string(), z.union([z.string(), z.number()]), z.string(), z.number()])
    .rest(z.string())
    .nullable(),
]);
export type Packed = z.infer<typeof packed>;

/** Sources by workflow id: a map whose changes leave the old one as it was and cost a fraction of a copy. */
export const sourcesState = z.object({
  buckets: z.array(byName(packed)).length(BUCKETS),
  count: z.number(),
  /** The earliest time since when one of them is final. */
  first_final: z.number().nullable(),
});
export type Sources = z.infer<typeof sourcesState>;

export const noSources: Sources = { buckets: Array.from({ length: BUCKETS }, () => ({})), count: 0, first_final: null };

export function finalAt([, , at]: Packed): number | null {
  return at;
}

export function get({ buckets }: Sources, id: string): Packed | undefined {
  const bucket = buckets[bucketOf(id)] ?? {};
  return valueOf(bucket, id);
}

export function entries({ buckets }: Sources): [string, Packed][] {
  return buckets.flatMap((bucket) => Object.entries(bucket));
}

export function set(sources: Sources, id: string, entry: Packed): Sources {
  const before = get(sources, id);
  const at = bucketOf(id);
  const buckets = sources.buckets.with(at, { ...sources.buckets[at], [id]: entry });
  const count = sources.count + (before ? 0 : 1);
  const final = finalAt(entry);
  const earlier =
    sources.first_final === null || (final !== null && final < sources.first_final) ? final : sources.first_final;
  const next = { buckets, count, first_final: earlier };
  // The one that was the earliest may no longer be final.
  const wasFirst =
    before && finalAt(before) !== null && finalAt(before) === sources.first_final && final !== finalAt(before);
  return wasFirst ? { ...next, first_final: firstFinal(next) } : next;
}

export function without(sources: Sources, ids: readonly string[]): Sources {
  const gone = new Set(ids);
  const touched = new Set(ids.map(bucketOf));
  const buckets = sources.buckets.map((bucket, at) =>
    touched.has(at) ? fromNames(Object.entries(bucket).filter(([id]) => !gone.has(id))) : bucket,
  );
  const next = {
    buckets,
    count: buckets.reduce((sum, bucket) => sum + Object.keys(bucket).length, 0),
    first_final: null,
  };
  return { ...next, first_final: firstFinal(next) };
}

/** The source that has been final longest. */
export function oldestFinal(sources: Sources): string | undefined {
  if (sources.first_final === null) return undefined;
  return entries(sources).find(([, entry]) => finalAt(entry) === sources.first_final)?.[0];
}

function firstFinal(sources: Pick<Sources, 'buckets'>): number | null {
  let first: number | null = null;
  for (const bucket of sources.buckets) {
    for (const entry of Object.values(bucket)) {
      const at = finalAt(entry);
      if (at !== null && (first === null || at < first)) first = at;
    }
  }
  return first;
}

function bucketOf(id: string): number {
  let hash = 0;
  for (let i = 0; i < id.length; i++) hash = (hash * 31 + id.charCodeAt(i)) | 0;
  return Math.abs(hash) % BUCKETS;
}
