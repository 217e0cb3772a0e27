import * as wf from '@temporalio/workflow';
import { locksTarget } from '../envelope/targets.ts';
import { fromNames, valueOf } from '../envelope/byName.ts';
import { lockMessages, MAX_LOCK_RETRIES, serves, type LockType } from '../envelope/lock.ts';
import { refusal } from '../envelope/refusal.ts';
import { shardOf } from '../envelope/shards.ts';
import type { Target } from '../envelope/address.ts';
import { Claim, patched } from './claim.ts';
import { LockDenied, LockLost, refused } from './errors.ts';
import { checkedRoom, compose, request, send } from './send.ts';
import { senderOf, type Sender, type SenderOptions } from './sender.ts';

/** An answer that is so late, in milliseconds, is asked for again. */
const LATE_MS = 5_000;
const MAX_PAUSE_MS = 3_600_000;

/** Options of {@link withPermit}, and of {@link withLock} beside the type. Durations in seconds. */
export interface PermitOptions extends SenderOptions {
  readonly room: string;
  /**
   * How long it is held without renewing, at most 300; default 60. It is renewed beside the body, four times a lease: a workflow
   * that is terminated costs others at most so long, and one that holds it for hours some 14 events of history a renewal.
   */
  readonly leaseSeconds?: number;
  /** How long to wait at most; 0 only tries; default 10. */
  readonly waitSeconds?: number;
  /** 1 (first) to 5; default 3. */
  readonly priority?: number;
  /** Broader is higher; decides between requests that arrive together. */
  readonly scope?: number;
  /** Over how many workflows the room's locks are spread, as its locks are configured; default 1. */
  readonly shards?: number;
}

/** Options of {@link withLock}. */
export interface LockOptions extends PermitOptions {
  /** `read` shares with reads and one write, `write` excludes writes, `exclusive` excludes all, `permit` is one of `config.permits`. */
  readonly type: LockType;
}

/** A lock while it is held. */
export interface Lock<Resource extends string = string> {
  readonly lockId: string;
  /** The fencing token of each resource: hand it to whatever is written. */
  readonly tokens: { readonly [Name in Resource]: number };
  /** Whether it is lost. The body's scope is cancelled then; code that is not cancelled can look here. */
  readonly lost: boolean;
}

/** A permit while it is held. */
export interface Permit {
  readonly lockId: string;
  readonly token: number;
  readonly lost: boolean;
}

/** The locks inside which the code runs. */
const enclosing = new wf.AsyncLocalStorage<readonly Claim[]>();

/**
 * Holds locks on some resources of a room while `body` runs, and releases them however it ends: by a return, a throw,
 * cancellation or continue-as-new. They are renewed beside it. The body runs in a cancellation scope of its own, which is
 * cancelled when a lock is lost; what it then returns is not taken for done. The owner is the agent: inside the body its own locks
 * do not stand in its way, and two branches that ask for the same set share one lock.
 *
 * Who waits in vain for `waitSeconds` loses all locks of this agent in the room, and asks again after a pause, at most three
 * times. Where that has cost it a lock that an outer body holds, it throws at once, and so does the outer `withLock`: that
 * `LockDenied`, or, from a body that goes on, `LockLost`. Ask for all at once.
 * @throws LockDenied where they were not granted, at last; LockLost where they were lost; ApplicationFailure `invalid_envelope`
 * naming the field.
 * @example
 * await withLock(['report'], { room: 'lab', type: 'exclusive' }, async ({ tokens }) => {
 *   await activities.writeReport({ token: tokens.report });
 * });
 */
export async function withLock<const Resource extends string, Result>(
  resources: readonly Resource[],
  options: LockOptions,
  body: (lock: Lock<Resource>) => Promise<Result>,
): Promise<Result> {
  const sender = senderOf(options);
  const message = requestOf(sender, resources, options);
  const target = targetOf(checkedRoom(options.room), message.resources, options.shards ?? 1);
  const claims = enclosing.getStore() ?? [];
  const own = claims.find((claim) => covers(claim, target, message));
  if (own) return await body(given(own, resources));
  const claim = await acquire(sender, target, resources, options);
  // Made here, so that what cancels the caller cancels the body.
  const scope = new wf.CancellationScope();
  const release = async (answered: boolean) =>
    await wf.CancellationScope.nonCancellable(async () => await claim.release({ answered }));
  let result: Result;
  try {
    await wf.CancellationScope.nonCancellable(async () => claim.hold(() => scope.cancel()));
    result = await enclosing.run([...claims, claim], () => scope.run(() => body(given(claim, resources))));
  } catch (error) {
    await release(false);
    if (claim.lost === undefined || !wf.isCancellation(error)) throw error;
    throw new LockLost(message.resources, claim.lost);
  }
  await release(true);
  if (claim.lost === undefined) return result;
  throw new LockLost(message.resources, claim.lost);
}

/**
 * Holds one of a resource's permits while `body` runs; the room's locks are configured with how many there are
 * (`config.permits`). Otherwise as {@link withLock}.
 * @example
 * const answer = await withPermit('api', { room: 'lab' }, async ({ token }) => await activities.callApi({ token }));
 */
export async function withPermit<Result>(
  resource: string,
  options: PermitOptions,
  body: (permit: Permit) => Promise<Result>,
): Promise<Result> {
  return await withLock([resource], { ...options, type: 'permit' }, async (lock) =>
    body({
      lockId: lock.lockId,
      token: lock.tokens[resource] ?? 0,
      get lost() {
        return lock.lost;
      },
    }),
  );
}

function requestOf(sender: Sender, resources: readonly string[], options: LockOptions): Claim['message'] {
  return compose(lockMessages['lock.request'], sender, {
    type: 'lock.request',
    resources,
    lock_type: options.type,
    lease_seconds: options.leaseSeconds,
    wait_seconds: options.waitSeconds,
    priority: options.priority,
    scope: options.scope,
  });
}

/** The room's lock manager, or the shard that the resources share. */
function targetOf(room: string, resources: readonly string[], shards: number): Target {
  if (shards === 1) return locksTarget(room);
  const [shard, ...others] = new Set(resources.map((resource) => shardOf(resource, shards)));
  if (shard !== undefined && others.length === 0) return locksTarget(room, shard, { shards });
  throw refused(
    refusal('invalid_envelope', 'resources lie in several shards: give names that belong together the same {tag}'),
  );
}

function covers({ grant, lost, message, target }: Claim, where: Target, wanted: Claim['message']): boolean {
  return (
    grant !== undefined &&
    lost === undefined &&
    target.workflowId === where.workflowId &&
    message.from === wanted.from &&
    serves(message.lock_type, wanted.lock_type) &&
    wanted.resources.every((resource) => message.resources.includes(resource))
  );
}

function given<Resource extends string>(claim: Claim, resources: readonly Resource[]): Lock<Resource> {
  const { grant } = claim;
  const tokens = fromNames(resources.map((resource) => [resource, (grant && valueOf(grant.tokens, resource)) ?? 0]));
  return {
    lockId: grant?.lock_id ?? '',
    tokens: tokens as Lock<Resource>['tokens'],
    get lost() {
      return claim.lost !== undefined;
    },
  };
}

/** Asks until it is granted, or denied for good. */
async function acquire(
  sender: Sender,
  target: Target,
  resources: readonly string[],
  options: LockOptions,
): Promise<Claim> {
  for (;;) {
    const claim = await answered(new Claim(sender, target, requestOf(sender, resources, options)));
    const { denial, refusal: why } = claim;
    if (claim.held) return claim;
    if (claim.left && patched()) await claim.cancel();
    else claim.close();
    if (why) throw refused(why);
    // Granted, and lost before it was received: asked for anew.
    if (!denial) continue;
    const final = denial.reason !== 'timeout' || denial.retry >= MAX_LOCK_RETRIES || denial.released.length > 0;
    if (final) throw new LockDenied(claim.message.resources, denial);
    await wf.sleep(denial.retry_after_seconds * 1000, { summary: 'pauses before it asks for a lock again' });
  }
}

/** Makes a request and waits for its answer; takes it back where the wait is cancelled. */
async function answered(claim: Claim): Promise<Claim> {
  const { sender, target, message } = claim;
  const summary = `waits for a lock on ${message.resources.join(', ')}`.slice(0, 200);
  try {
    await send(sender, target, message);
    for (let pause = message.wait_seconds * 1000 + LATE_MS; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
      if (await wf.condition(() => claim.answered, pause, { summary })) return claim;
      await request(sender, target, message);
    }
  } catch (error) {
    await wf.CancellationScope.nonCancellable(() => claim.cancel());
    throw error;
  }
}
