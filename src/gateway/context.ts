import type { Context } from 'hono';
import type { SharedConnection } from '../client/connection/sharedConnection.ts';
import { linked, unlessAborted, type Linked } from '../client/timing/timing.ts';
import type { Log } from '../dev/log.ts';
import { Problem, unavailable } from './errors.ts';
import type { Feed } from './feed.ts';
import type { Feeds } from './feeds.ts';
import type { Metrics } from './metrics.ts';
import type { Rates } from './rates.ts';
import type { EventStream } from './stream.ts';
import type { TokenSource } from './tokenStore.ts';
import { mayUseRoom, type StoredToken } from './tokens.ts';

/** What the routes of one gateway share. */
export interface Services {
  readonly connection: SharedConnection;
  readonly feeds: Feeds;
  readonly tokens: TokenSource;
  readonly rates: Rates;
  readonly metrics: Metrics;
  readonly streams: Map<EventStream, StoredToken>;
  /** Fires when the gateway ends: waits are answered, nothing new is begun. */
  readonly closing: AbortSignal;
  readonly log: Log;
}

/** What a request carries from one middleware to the next. */
export interface GatewayEnv {
  /** What Node's server has of a request; other servers have none. */
  Bindings: { readonly outgoing?: { destroy(): void } };
  Variables: {
    token: StoredToken;
    /** Keeps the request counted as open after its answer has begun, as streams must. */
    keepOpen: () => () => void;
  };
}

/** How long an answer may take that needs a workflow, in milliseconds, before the caller gets 503. */
export const PATIENCE_MS = 25_000;

/** Fires when the caller has gone, or the gateway ends; to be released with the answer. */
export function endOf(c: Context<GatewayEnv>, { closing }: Services): Linked {
  return linked([c.req.raw.signal, closing]);
}

/** A log that is read for one answer. */
export interface OpenedFeed {
  readonly feed: Feed;
  /** Fires when the caller has gone, or the gateway ends. */
  readonly end: AbortSignal;
  /** To be called with the end of the answer. */
  readonly release: () => void;
}

/**
 * The log of a workflow, once all is here that was logged before.
 * @param name what the caller calls it.
 * @throws Problem where that takes too long.
 */
export async function openedFeed(
  c: Context<GatewayEnv>,
  services: Services,
  workflowId: string,
  name: string,
): Promise<OpenedFeed> {
  const feed = services.feeds.of(workflowId);
  const releaseFeed = feed.hold();
  const end = endOf(c, services);
  const release = () => {
    releaseFeed();
    end.release();
  };
  try {
    await withPatience(
      async () => await feed.ready(end.signal),
      () => unavailable(`${name} does not answer: come again`),
    );
    return { feed, end: end.signal, release };
  } catch (error) {
    release();
    throw error;
  }
}

/** @throws Problem `unauthorized` where the caller's token is not for the room. */
export function checkRoom(token: StoredToken, room: string): void {
  if (!mayUseRoom(token, room)) throw new Problem('unauthorized', `this token is not for the room ${room}`);
}

/**
 * Resolves to what the call does, or throws what `late` makes where that takes too long.
 * @param call is given a signal that fires then: what is kept for callers who got 503 would pile up.
 */
export async function withPatience<T>(
  call: (givenUp: AbortSignal) => Promise<T>,
  late: () => Problem,
  ms: number = PATIENCE_MS,
): Promise<T> {
  const end = new AbortController();
  const timer = setTimeout(() => end.abort(late()), ms);
  try {
    return await unlessAborted(call(end.signal), end.signal);
  } finally {
    clearTimeout(timer);
  }
}
