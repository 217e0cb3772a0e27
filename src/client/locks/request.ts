import { z } from 'zod';
import type { Envelope } from '../../envelope/envelope.ts';
import { lockMessages, tokensByResource, type LockType } from '../../envelope/lock.ts';
import { asError } from '../messages/answers.ts';
import type { Target } from '../../envelope/address.ts';
import { compose } from '../messages/compose.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';
import { jittered, parting, pause } from '../timing/timing.ts';
import { Desk } from './desk.ts';
import { Hold, type Wanted } from './hold.ts';

/** A waiter asks again what became of it so often, in case the answer was lost. */
const ASK_INTERVAL_MS = 15_000;

/** What answers a request, or ends its wait. */
const granted = z.object({
  type: z.literal('lock.granted'),
  lock_id: z.string(),
  tokens: tokensByResource,
  lease_seconds: z.number(),
  seq: z.number().optional(),
});
const queued = z.object({ type: z.literal('lock.queued'), lock_id: z.string(), seq: z.number().optional() });
const denied = z.object({
  type: z.literal('lock.denied'),
  reason: z.string(),
  released: z.array(z.string()).default([]),
  retry: z.number().default(0),
  retry_after_seconds: z.number().default(0),
});
export type Denial = z.infer<typeof denied>;
const OVER = new Set(['lock.granted', 'lock.denied', 'lock.cancelled', 'lock.expired', 'lock.released']);

/** How a request is made. */
export interface RequestOptions {
  readonly leaseSeconds?: number | undefined;
  readonly waitSeconds?: number | undefined;
  readonly priority?: number | undefined;
  readonly scope?: number | undefined;
}

/** Asks for locks once, and waits for the answer. A wait that is broken off by `signal` is cancelled, and throws its reason; that takes seconds at most, also where the server is away. */
export async function request(
  connection: SharedConnection,
  agent: string,
  target: Target,
  wanted: Wanted,
  options: RequestOptions,
  signal: AbortSignal,
): Promise<Hold | Denial> {
  signal.throwIfAborted();
  const askedAt = performance.now();
  const message = compose(lockMessages['lock.request'], agent, {
    type: 'lock.request',
    resources: wanted.resources,
    lock_type: wanted.type,
    lease_seconds: options.leaseSeconds,
    wait_seconds: options.waitSeconds,
    priority: options.priority,
    scope: options.scope,
  });
  const ask = async () => {
    const answers = await parting(signal, async (end) => await connection.send(target, message, end));
    if (!answers) throw signal.reason;
    return answers;
  };
  const cancel = compose(lockMessages['lock.cancel'], agent, { type: 'lock.cancel', request: message.id });
  const first = await ask();
  const now = over(first);
  const waiting = queued.safeParse(first[0]);
  if (!now && !waiting.success) throw refusedAs(first[0]);
  const answer = now ?? (await ended(connection, agent, target, waiting.data, ask, signal));
  if (!answer) {
    // Whatever has been granted meanwhile is released by it.
    await parting(signal, async (end) => await connection.send(target, cancel, end));
    throw signal.reason;
  }
  const denial = denied.safeParse(answer);
  if (denial.success) return denial.data;
  const grant = granted.safeParse(answer);
  // Granted and already lost again: a slow reader asks anew.
  if (!grant.success) return await request(connection, agent, target, wanted, options, signal);
  const tokenless = wanted.resources.find((resource) => !Object.hasOwn(grant.data.tokens, resource));
  if (tokenless !== undefined) throw new Error(`the grant ${grant.data.lock_id} has no token of ${tokenless}`);
  const { lock_id: lockId, tokens, lease_seconds: leaseSeconds, seq = 0 } = grant.data;
  const began = now ? askedAt : performance.now();
  return Hold.begin(connection, agent, target, { ...wanted, lockId, tokens, leaseSeconds, seq }, began, !now);
}

/** The word that ended a wait; undefined where the signal did. */
async function ended(
  connection: SharedConnection,
  agent: string,
  target: Target,
  waiting: z.infer<typeof queued> | undefined,
  ask: () => Promise<readonly Envelope[]>,
  signal: AbortSignal,
): Promise<Envelope | undefined> {
  if (!waiting) return undefined;
  let found: Envelope | undefined;
  let wake = new AbortController();
  const leave = Desk.of(connection, target.workflowId).hear(
    agent,
    waiting.lock_id,
    waiting.seq ?? 0,
    (word) => {
      if (!OVER.has(word.type)) return;
      found ??= word;
      wake.abort();
    },
    () => wake.abort(),
  );
  try {
    while (!found) {
      await pause(jittered(ASK_INTERVAL_MS), AbortSignal.any([signal, wake.signal]));
      if (found) break;
      if (signal.aborted) return undefined;
      wake = new AbortController();
      found ??= over(await ask());
    }
    return found;
  } finally {
    leave();
  }
}

/** The last of the words that ends a request, where there is one. */
function over(words: readonly Envelope[]): Envelope | undefined {
  return words.findLast(({ type }) => OVER.has(type));
}

function refusedAs(answer: Envelope | undefined): Error {
  return answer?.type === 'error' ? asError(answer) : new Error(`a lock request was answered by ${answer?.type}`);
}

/** The kind that gives all that two kinds give; undefined where none does. */
export function stronger(a: LockType, b: LockType): LockType | undefined {
  if (a === b) return a;
  if (a === 'permit' || b === 'permit') return undefined;
  return a === 'exclusive' || b === 'exclusive' ? 'exclusive' : 'write';
}
