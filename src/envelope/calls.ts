import { z } from 'zod';
import { byName } from './byName.ts';
import { envelopeLike, message, type Envelope } from './envelope.ts';
import { agentId, json, roomName, text, whole } from './fields.ts';
import { MAX_RECEIVE_AGENTS, MAX_RECEIVE_EVENTS, MAX_WAIT_SECONDS } from './limits.ts';

/** Reads everything, also what is addressed to one agent: for mirrors and operators. No agent id can be it. */
export const EVERYONE = '*';

/** The argument of `receive`. */
export const receiveArgs = z.object({
  /** One process; a new call of the same reader ends its older one. */
  reader: text.min(1).max(128).optional(),
  agents: z
    .array(z.union([agentId, z.literal(EVERYONE)], { error: 'must be an agent id' }))
    .max(MAX_RECEIVE_AGENTS, `must hold at most ${MAX_RECEIVE_AGENTS} agents`),
  /** Only events of these types; absent: of all. Who waits for a grant need not wake at the messages of every other waiter. */
  types: z.array(text.min(1).max(128)).min(1).max(64).optional(),
  /** The last `seq` already read; 0 from the start, -1 from now on. */
  after: whole(-1),
  wait_seconds: z
    .number()
    .min(0, `must be a number of seconds from 0 to ${MAX_WAIT_SECONDS}`)
    .max(MAX_WAIT_SECONDS, `must be a number of seconds from 0 to ${MAX_WAIT_SECONDS}`)
    .default(0),
  limit: whole(1, MAX_RECEIVE_EVENTS).default(MAX_RECEIVE_EVENTS),
});
export type ReceiveArgs = z.infer<typeof receiveArgs>;

/** One entry of a log. */
export interface LogEvent {
  readonly seq: number;
  readonly envelope: Envelope;
}

/** Some agents or types: a set is one. */
interface Names {
  has(name: string): boolean;
}

/** Whether an envelope is for one of some agents, or for the whole room; and of one of the types, where some are asked for. */
export function isFor({ type, to }: Envelope, agents: Names, types?: Names): boolean {
  if (types && !types.has(type)) return false;
  return to === undefined || agents.has(to) || agents.has(EVERYONE);
}

/** The result of `receive`. */
export interface Received {
  readonly events: readonly LogEvent[];
  /** The next call's `after`. */
  readonly next: number;
  /** Events after `after` are no longer kept: read `view`, or repeat the request, and go on from `next`. */
  readonly truncated: boolean;
  /** Temporal's time. */
  readonly now: string;
  /** The wait was ended for another's sake: pause so many seconds before the next call. */
  readonly retry_after_seconds?: number;
}

/** The result of `receive` as another side sends it. */
export const received: z.ZodType<Received> = z.object({
  events: z.array(z.object({ seq: z.number(), envelope: envelopeLike })),
  next: z.number(),
  truncated: z.boolean(),
  now: z.string(),
  retry_after_seconds: z.number().optional(),
});

/** The argument that starts any of the workflows. `state` is set only by continue-as-new. */
export const startArgs = z.object({
  room: roomName,
  config: byName(json).optional(),
  state: z.unknown().optional(),
});
export type StartArgs = z.infer<typeof startArgs>;

/** Which message opened a workflow: what distinguishes a repeat from a conflict after the workflow has closed. */
export const opening = z.object({ from: z.string(), idempotency_key: z.string(), body_hash: z.string() });
export type Opening = z.infer<typeof opening>;

/** How many waits a workflow may be configured to hold at once, as `max_waits`. */
export const maxWaits = whole(1, 1_000);

/** Changes a workflow's configuration: merges by key, null removes. For operators. */
export const configSet = message('config.set', { config: byName(json) });
export type ConfigSet = z.infer<typeof configSet>;
