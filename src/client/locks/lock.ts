import { AsyncLocalStorage } from 'node:async_hooks';
import { MAX_LOCK_RETRIES, MAX_RESOURCES, type LockType } from '../../envelope/lock.ts';
import { SynodError } from '../../envelope/refusal.ts';
import type { LockConnection } from './connection.ts';
import type { Keys } from '../../envelope/options.ts';
import { jittered, pause, unlessAborted } from '../timing/timing.ts';
import { Hold, type Place, type Wanted } from './hold.ts';
import { request, stronger, type RequestOptions } from './request.ts';
import { forgetLocks, lockTarget } from './shards.ts';

/** Options of `room.lock`. Durations in seconds. */
export interface LockOptions extends RequestOptions {
  /** `read` shares with reads and one write, `write` excludes writes, `exclusive` excludes all, `permit` is one of `config.permits`. */
  readonly type: LockType;
  /** How long it is held without renewing, at most 300; default 60. It is renewed beside the work. */
  readonly leaseSeconds?: number;
  /** How long to wait at most; 0 only tries; default 10. */
  readonly waitSeconds?: number;
  /** 1 (first) to 5; default 3. */
  readonly priority?: number;
  /** Broader is higher; decides between requests that arrive together. */
  readonly scope?: number;
  /** Breaks off the wait; once the lock is held it is for the body to look at it. */
  readonly signal?: AbortSignal;
}

/** The keys of {@link LockOptions}. */
export const LOCK_KEYS: Keys<LockOptions> = {
  type: true,
  leaseSeconds: true,
  waitSeconds: true,
  priority: true,
  scope: true,
  signal: true,
};

/** A lock while it is held. */
export interface Lock<Resource extends string = string> {
  readonly lockId: string;
  /** The fencing token of each resource: hand it to whatever is written (see `checkToken`). */
  readonly tokens: { readonly [Name in Resource]: number };
  /** Fires when the lock is lost: it ran out, was released by force, or had to be given up. */
  readonly signal: AbortSignal;
}

/** A lock was not granted, at last. */
export class LockDenied extends Error {
  override readonly name = 'LockDenied';
  /** `busy`: tried in vain. `timeout`: waited in vain, and all that the agent held was released. `held`: the agent holds a part of it already. */
  readonly reason: string;
  readonly resources: readonly string[];
  /** The ids of the locks that the agent had to give up, as far as the server or this process names them. */
  readonly released: readonly string[];
  /** How many locks the agent had to give up. */
  readonly releasedCount: number;

  constructor(wanted: Wanted, reason: string, released: readonly string[] = [], releasedCount: number = 0) {
    super(`${wanted.type} lock on ${wanted.resources.join(', ')} was denied: ${reason}`);
    this.reason = reason;
    this.resources = wanted.resources;
    this.released = released;
    this.releasedCount = releasedCount;
  }
}

/** A lock whose body runs, and what was wanted inside it when it had to be given up. */
interface Frame {
  readonly hold: Hold;
  wanted: Wanted | undefined;
  pauseMs: number;
}

/** The locks inside which the code runs, the outermost first. */
const enclosing = new AsyncLocalStorage<readonly Frame[]>();

/** Holds locks while a body runs. See `Room.lock`. */
export async function lock<Resource extends string, Result>(
  connection: LockConnection,
  agent: string,
  room: string,
  resources: readonly Resource[],
  options: LockOptions,
  body: (lock: Lock<Resource>) => Promise<Result>,
): Promise<Result> {
  const frames = enclosing.getStore() ?? [];
  let wanted: Wanted = { resources: [...new Set<string>(resources)].sort(), type: options.type };
  for (let retry = 0; ; retry++) {
    const target = await unlessAborted(lockTarget(connection, room, wanted.resources), options.signal);
    const own = frames.find(({ hold }) => hold.covers(agent, target, wanted));
    if (own) {
      const result = await body(given(own.hold, resources));
      if (own.hold.lost) throw own.hold.signal.reason;
      return result;
    }
    const hold = await acquire({ connection, agent, target }, wanted, options, frames).catch((error: unknown) => {
      if (error instanceof SynodError) forgetLocks(connection, room);
      throw error;
    });
    const frame: Frame = { hold, wanted: undefined, pauseMs: 0 };
    const ended = await outcomeOf(hold, async () =>
      enclosing.run([...frames, frame], async () => await body(given(hold, resources))),
    );
    if ('result' in ended) return ended.result;
    if (!frame.wanted || retry === MAX_LOCK_RETRIES) throw ended.failure;
    wanted = frame.wanted;
    await pause(frame.pauseMs, options.signal);
  }
}

function given<Resource extends string>({ grant, signal }: Hold, resources: readonly Resource[]): Lock<Resource> {
  const tokens = Object.fromEntries(resources.map((resource) => [resource, grant.tokens[resource]]));
  return { lockId: grant.lockId, tokens: tokens as Lock<Resource>['tokens'], signal };
}

/** Runs a body under a lock and releases it. What is done counts only where the lock was held to the end. */
async function outcomeOf<Result>(
  hold: Hold,
  body: () => Promise<Result>,
): Promise<{ readonly result: Result } | { readonly failure: unknown }> {
  let ended: { readonly result: Result } | { readonly failure: unknown };
  try {
    const result = await body();
    ended = hold.lost ? { failure: hold.signal.reason } : { result };
  } catch (failure) {
    ended = { failure };
  }
  const loss = await hold.leave();
  return loss && 'result' in ended ? { failure: loss } : ended;
}

/** Asks until it is granted or denied for good. */
async function acquire(place: Place, wanted: Wanted, options: LockOptions, frames: readonly Frame[]): Promise<Hold> {
  const { signal = new AbortController().signal } = options;
  const released = new Set<string>();
  let releasedCount = 0;
  for (;;) {
    const answer = await request(place, wanted, options, signal);
    if (answer instanceof Hold) return answer;
    if (answer.reason !== 'timeout') throw new LockDenied(wanted, answer.reason);
    const lost = new Set(await Hold.denied(place, answer));
    // A denial names some of what it has released.
    for (const id of [...answer.released, ...[...lost].map(({ grant }) => grant.lockId)]) released.add(id);
    releasedCount += answer.released_count ?? answer.released.length;
    const denial = new LockDenied(wanted, answer.reason, [...released], releasedCount);
    const pauseMs = jittered(answer.retry_after_seconds * 1000);
    const affected = frames.filter(({ hold }) => lost.has(hold));
    const [outermost] = affected;
    if (outermost) {
      // All that it held and what it wants are asked for together, by whoever held the first of them.
      outermost.wanted = together([...affected.map(({ hold }) => hold.grant), wanted]);
      outermost.pauseMs = pauseMs;
      throw denial;
    }
    // The manager counts the denials of this agent for the same resources; the last one is escalated to the room.
    if (answer.retry >= MAX_LOCK_RETRIES) throw denial;
    await pause(pauseMs, signal);
  }
}

/** What is asked for at once instead of one after the other; undefined where no one lock is all of them. */
function together(all: readonly Wanted[]): Wanted | undefined {
  let type: LockType | undefined = all[0]?.type;
  for (const each of all) type = type && stronger(type, each.type);
  const resources = [...new Set(all.flatMap((each) => each.resources))].sort();
  return type && resources.length <= MAX_RESOURCES ? { resources, type } : undefined;
}
