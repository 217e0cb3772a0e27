import { setTimeout as delay } from 'node:timers/promises';

const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 2_000;

/** A time between half and one and a half times `ms`, so that many who failed together do not come back together. */
export function jittered(ms: number): number {
  return ms * (0.5 + Math.random());
}

/** The pause before the n-th repeat, in milliseconds: short at first, never above three seconds. */
export function backoff(attempt: number): number {
  return jittered(Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempt, 10)));
}

/** Waits `ms` milliseconds, or until the signal fires; never throws. Returns whether the time has passed. */
export async function pause(ms: number, signal?: AbortSignal): Promise<boolean> {
  try {
    await delay(ms, undefined, signal ? { signal } : {});
    return true;
  } catch {
    return false;
  }
}

/** A signal that fires with the first of some, or after `ms` milliseconds; `release` lets go of them. */
export interface Linked {
  readonly signal: AbortSignal;
  release(): void;
}

/**
 * Like `AbortSignal.any`, but it can be let go of: a signal that lives as long as the process would otherwise gather a
 * trace of every call.
 */
export function linked(signals: readonly (AbortSignal | undefined)[], ms?: number): Linked {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const timer = ms === undefined ? undefined : setTimeout(abort, ms);
  for (const signal of signals) {
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
  }
  return {
    signal: controller.signal,
    release() {
      clearTimeout(timer);
      for (const signal of signals) signal?.removeEventListener('abort', abort);
    },
  };
}

/** What the work comes to, or undefined where the signal fires first; how it ends then is nobody's concern. */
export async function until<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  work.catch(() => undefined);
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<undefined>((resolve) => (onAbort = () => resolve(undefined)));
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
