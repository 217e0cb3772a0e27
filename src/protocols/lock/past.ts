import { z } from 'zod';
import { sha256Hex } from '../../envelope/canonical.ts';

/** Counters of retries kept, and for how long, in milliseconds; the oldest go first. */
const MAX_RETRIES = 256;
const RETRY_MS = 3_600_000;
/** Cancels kept that came before their request, and for how long, in milliseconds. */
const MAX_CANCELS = 256;
const CANCEL_MS = 600_000;
/** Ends of locks kept, for whoever asks again what became of one. */
const MAX_ENDS = 256;
/** Locks that an end names at most, of those that went with it. */
const MAX_ALSO = 8;
/** An upper bound of the bytes of all that is kept here. */
export const PAST_BYTES = 64 * 1024;

/** How a lock ended: released, cancelled, denied after its wait, or lost. */
export type End = 'released' | 'cancelled' | 'denied' | 'expired';
const CODES = { r: 'released', c: 'cancelled', d: 'denied', e: 'expired' } as const;
const CODE_OF = { released: 'r', cancelled: 'c', denied: 'd', expired: 'e' } as const;

const marked = z.array(z.tuple([z.string(), z.number(), z.number()]));

/** What outlives the locks, within bounds: the latest last. */
export const past = z.object({
  /** The time-outs of an agent and a set of resources: their mark, how many, when the last. */
  retries: marked,
  /** Cancels by the mark of agent and key, and when they came; a third element once their request has come. */
  cancels: z.array(z.tuple([z.string(), z.number()]).rest(z.number())),
  /** The number of the lock, how it ended; for a denial which retry it was, how many locks went with it and the first of them. */
  ends: z.array(z.tuple([z.number(), z.enum(['r', 'c', 'd', 'e'])]).rest(z.number())),
});
export type Past = z.infer<typeof past>;

export const noPast: Past = { retries: [], cancels: [], ends: [] };

/** An agent and what it asked for, as few characters as distinguish them. */
export function mark(agent: string, ...what: readonly string[]): string {
  return sha256Hex(JSON.stringify([agent, ...what])).slice(0, 24);
}

/** Counts one more time-out of an agent and a set of resources. */
export function countRetry(memory: Past, who: string, now: number): { past: Past; count: number } {
  const known = memory.retries.find(([whose, , at]) => whose === who && at + RETRY_MS > now);
  const count = (known?.[1] ?? 0) + 1;
  const others = memory.retries.filter(([whose]) => whose !== who);
  return {
    past: { ...memory, retries: [...others, [who, count, now] as const].slice(-MAX_RETRIES).map(copied) },
    count,
  };
}

function copied([who, count, at]: readonly [string, number, number]): [string, number, number] {
  return [who, count, at];
}

/** Forgets the time-outs of an agent and a set of resources. */
export function forgetRetries(memory: Past, who: () => string): Past {
  if (memory.retries.length === 0) return memory;
  const whose = who();
  const retries = memory.retries.filter(([each]) => each !== whose);
  return retries.length === memory.retries.length ? memory : { ...memory, retries };
}

/** Remembers a cancel whose request has not come yet. */
export function noteCancel(memory: Past, who: string, now: number): Past {
  const others = memory.cancels.filter(([whose, at]) => whose !== who && at + CANCEL_MS > now);
  return { ...memory, cancels: [...others, [who, now] satisfies [string, number]].slice(-MAX_CANCELS) };
}

/** Takes the cancel that came before this request, where one did; with `keep` it is remembered for the time that cancels are. */
export function takeCancel(
  memory: Past,
  who: () => string,
  now: number,
  keep: boolean,
): { past: Past; cancelled: boolean } {
  if (memory.cancels.length === 0) return { past: memory, cancelled: false };
  const whose = who();
  const found = memory.cancels.find(([each]) => each === whose);
  if (!found) return { past: memory, cancelled: false };
  const [, at] = found;
  const others = memory.cancels.filter((each) => each !== found);
  // It is kept, so that the request is answered the same when it is sent again.
  const cancels = keep ? [...others, [whose, at, 1] satisfies [string, number, number]] : others;
  return { past: { ...memory, cancels }, cancelled: at + CANCEL_MS > now };
}

/** Whether a request was answered with a cancel that came before it. */
export function wasCancelled(memory: Past, who: () => string, now: number): boolean {
  if (memory.cancels.length === 0) return false;
  const whose = who();
  return memory.cancels.some(([each, at, met]) => each === whose && met === 1 && at + CANCEL_MS > now);
}

export function noteEnd(memory: Past, n: number, end: End, retry = 0, also: readonly number[] = []): Past {
  const more = end === 'denied' ? [retry, also.length, ...also.slice(0, MAX_ALSO)] : [];
  const entry: Past['ends'][number] = [n, CODE_OF[end], ...more];
  return { ...memory, ends: [...memory.ends.slice(-(MAX_ENDS - 1)), entry] };
}

/** How a lock ended, where that is still known. */
export function endOf(
  { ends }: Past,
  n: number,
): { readonly end: End; readonly retry: number; readonly count: number; readonly also: readonly number[] } | undefined {
  const found = ends.findLast(([each]) => each === n);
  if (!found) return undefined;
  const [, code, retry = 0, count = 0, ...also] = found;
  return { end: CODES[code], retry, count, also };
}
