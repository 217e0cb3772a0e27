import * as wf from '@temporalio/workflow';
import { inbox } from '../../src/in-workflow/inbox.ts';
import { LockDenied, withLock, withPermit, type LockOptions, type PermitOptions } from '../../src/in-workflow/index.ts';

export const go = wf.defineSignal('go');

/** What a user's workflow saw of a lock. */
export interface Seen {
  readonly lockId: string;
  readonly token: number;
  /** In Temporal's time. */
  readonly from: number;
  readonly to: number;
}

/** Holds a lock for a time, or until it is signalled to go on where that is 0. */
export async function holder(resource: string, options: LockOptions, forMs: number): Promise<Seen> {
  let signalled = false;
  wf.setHandler(go, () => void (signalled = true));
  return await withLock([resource], options, async ({ lockId, tokens }) => {
    const from = Date.now();
    if (forMs > 0) await wf.sleep(forMs);
    else await wf.condition(() => signalled);
    return { lockId, token: tokens[resource] ?? 0, from, to: Date.now() };
  });
}

/** Throws while it holds a lock. */
export async function thrower(resource: string, options: LockOptions): Promise<void> {
  await withLock([resource], options, async () => {
    await wf.sleep(10);
    throw wf.ApplicationFailure.nonRetryable('thrown in the body', 'thrown');
  });
}

/** Continues as new inside the body, and in its last run returns whether the lock could be had again at once. */
export async function renewing(resource: string, options: LockOptions, runs: number): Promise<string> {
  return await withLock([resource], { ...options, waitSeconds: 0 }, async ({ lockId }) =>
    runs > 1 ? await wf.continueAsNew<typeof renewing>(resource, options, runs - 1) : lockId,
  );
}

/** Asks for more inside a lock, for a part of it, and for the same in another branch. */
export async function nested(options: LockOptions): Promise<Record<string, string | number>> {
  return await withLock(['a', 'b'], options, async (outer) => {
    const inner = await withLock(['a'], { ...options, type: 'read' }, async (lock) => lock);
    const more = await withLock(['c'], options, async (lock) => lock.lockId);
    await wf.sleep(1);
    return { outer: outer.lockId, inner: inner.lockId, more, a: outer.tokens.a, innerA: inner.tokens.a };
  });
}

/** Two branches that share one lock: the first ends, and a time later the second; what each has got. */
export async function sharing(resource: string, options: LockOptions, ms: number): Promise<string[]> {
  let both = 0;
  const branch = async (forMs: number) =>
    await withLock([resource], options, async ({ lockId }) => {
      both += 1;
      await wf.condition(() => both === 2);
      await wf.sleep(forMs);
      return lockId;
    });
  return await Promise.all([branch(1), branch(ms)]);
}

/** Holds many locks, one each, and waits in vain for one more; how many of them it has lost a moment after the denial. */
export async function many(count: number, other: string, options: LockOptions): Promise<number> {
  const scope = new wf.CancellationScope();
  let [held, lost] = [0, 0];
  const branch = async (i: number) =>
    await withLock([`many-${i}`], options, async (lock) => {
      held += 1;
      await wf.condition(() => lock.lost, '1 hour').catch(() => undefined);
      if (lock.lost) lost += 1;
    });
  const all = scope.run(() =>
    Promise.all(Array.from({ length: count }, async (_, i) => await branch(i).catch(() => undefined))),
  );
  await wf.condition(() => held === count);
  const error: unknown = await withLock([other], { ...options, waitSeconds: 1 }, async () => undefined).catch(
    (e: unknown) => e,
  );
  await wf.sleep(1_000);
  const soon = lost;
  scope.cancel();
  await all.catch(() => undefined);
  if (!(error instanceof LockDenied)) throw wf.ApplicationFailure.nonRetryable(`not denied: ${String(error)}`);
  return soon;
}

/**
 * Takes a lock, and keeps back envelopes of some types until it is signalled to go on: of these it receives the `first` then. The body
 * returns at once, or waits for that where `first` is 0; refusals come a second later from then on.
 * @returns the lock's token.
 */
export async function late(
  resource: string,
  options: LockOptions,
  { types, first }: { readonly types: readonly string[]; readonly first: number },
): Promise<number> {
  const box = inbox();
  const kept: unknown[] = [];
  let signalled = false;
  wf.setHandler(wf.defineSignal<[{ type: string }]>('synod.reply'), async (envelope) => {
    if (signalled && envelope.type === 'error') await wf.sleep(1_000);
    if (!signalled && types.includes(envelope.type)) kept.push(envelope);
    else box.receive(envelope);
  });
  wf.setHandler(go, () => {
    signalled = true;
    for (const envelope of kept.slice(0, first)) box.receive(envelope);
  });
  return await withLock([resource], options, async ({ tokens }) => {
    if (first === 0) await wf.condition(() => signalled);
    return tokens[resource] ?? 0;
  });
}

/** Wants another lock inside a lock; denied it, it may go on as if nothing were. */
export async function greedy(resource: string, other: string, options: LockOptions, goesOn: boolean): Promise<void> {
  await withLock([resource], options, async () => {
    try {
      await withLock([other], options, async () => undefined);
    } catch (error) {
      if (!goesOn) throw error;
    }
  });
}

/** Returns why it was denied, and how long it has tried. */
export async function denied(resource: string, options: LockOptions): Promise<{ reason: string; ms: number }> {
  const from = Date.now();
  try {
    await withLock([resource], options, async () => undefined);
    return { reason: 'granted', ms: Date.now() - from };
  } catch (error) {
    if (error instanceof LockDenied) return { reason: error.reason, ms: Date.now() - from };
    throw error;
  }
}

/** Runs some bodies at once, each under a permit; how many were inside together at most. */
export async function crowd(resource: string, options: PermitOptions, size: number): Promise<number> {
  let inside = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: size }, async (_, i) =>
      withPermit(resource, { ...options, agent: `member-${i}` }, async ({ token }) => {
        if (token === 0) throw wf.ApplicationFailure.nonRetryable('a permit without a token');
        inside += 1;
        most = Math.max(most, inside);
        // Another is let in meanwhile, however slow the machine is; then a third has its chance.
        await wf.condition(() => most > 1, 5_000);
        await wf.sleep(100);
        inside -= 1;
      }),
    ),
  );
  return most;
}

/** Every signal to it is lost. */
export async function unanswered(resource: string, options: LockOptions): Promise<number> {
  const lock = withLock([resource], options, async ({ tokens }) => tokens[resource] ?? 0);
  wf.setHandler(wf.defineSignal('synod.reply'), () => undefined);
  return await lock;
}
