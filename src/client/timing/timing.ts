import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

const FIRST_PAUSE_MS = 20;
/** With the longest pause between two attempts to connect (see `RECONNECT`) at most two seconds. */
const MAX_PAUSE_MS = 800;
/** A server that has no place for another update is asked less often. */
const MAX_CONTENDED_PAUSE_MS = 2_000;

/** A time between half and one and a half times `ms`, so that many who failed together do not come back together. */
export function jittered(ms: number): number {
  return ms * (0.5 + Math.random());
}

/**
 * The pause before the n-th repeat, in milliseconds: short at first, never above 1.2 s, so that a caller is back within two
 * seconds after an outage; where the server has too many callers, or a workflow is not
 * open yet (`contended`), never above 3 s.
 */
export function backoff(attempt: number, contended: boolean = false): number {
  const longest = contended ? MAX_CONTENDED_PAUSE_MS : MAX_PAUSE_MS;
  return jittered(Math.min(longest, FIRST_PAUSE_MS * 2 ** Math.min(attempt, 10)));
}

/** Waits `ms` milliseconds, or until the signal fires; never throws. Returns whether the time has passed. */
export async function pause(ms: number, signal?: AbortSignal): Promise<boolean> {
  if (signal) manyWaitOn(signal);
  try {
    await delay(ms, undefined, signal ? { signal } : {});
    return true;
  } catch {
    return false;
  }
}

/** A signal that fires with the first of some, or after `ms` milliseconds; `release` removes its listeners. */
export interface Linked {
  readonly signal: AbortSignal;
  release(): void;
}

/**
 * Like `AbortSignal.any`, but its listeners can be removed: otherwise a signal that lasts as long as the process would gather
 * one for each call.
 */
export function linked(signals: readonly (AbortSignal | undefined)[], ms?: number): Linked {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const timer = ms === undefined ? undefined : setTimeout(abort, ms);
  for (const signal of signals) {
    if (!signal) continue;
    if (signal.aborted) abort();
    manyWaitOn(signal);
    signal.addEventListener('abort', abort, { once: true });
  }
  return {
    signal: controller.signal,
    release() {
      clearTimeout(timer);
      for (const signal of signals) signal?.removeEventListener('abort', abort);
    },
  };
}

/** For so long, in milliseconds, what is stopped goes on waiting for an answer, and releases what it holds. */
const GRACE_MS = 5_000;
/** The longest time that Node's timers take. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * What the work comes to; undefined where it has not done so by `ms` milliseconds (default 5,000) after the signal fired. How it
 * ends then is nobody's concern.
 * @param work is given a signal that fires when it is given up.
 */
export async function withGrace<T>(
  signal: AbortSignal,
  work: (end: AbortSignal) => Promise<T>,
  ms: number = GRACE_MS,
): Promise<T | undefined> {
  const end = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const begin = () => (timer = setTimeout(() => end.abort(signal.reason), Math.min(ms, MAX_TIMER_MS)));
  if (signal.aborted) begin();
  manyWaitOn(signal);
  signal.addEventListener('abort', begin, { once: true });
  try {
    return await until(work(end.signal), end.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', begin);
  }
}

/** What the work comes to; rejects with the signal's reason where that fires first. How the work ends then is nobody's concern. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return await work;
  const done = work.then((value) => ({ value }));
  const answer = await until(done, signal);
  if (!answer) throw signal.reason;
  return answer.value;
}

/** What the work comes to, or undefined where the signal fires first; how it ends then is nobody's concern. */
export async function until<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  work.catch(() => undefined);
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<undefined>((resolve) => (onAbort = () => resolve(undefined)));
  if (signal.aborted) onAbort();
  manyWaitOn(signal);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Each wait listens to its signal until it ends: Node would take more than ten of them for a leak. */
function manyWaitOn(signal: AbortSignal): void {
  setMaxListeners(0, signal);
}
