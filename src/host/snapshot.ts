import { z } from 'zod';
import { byName } from '../envelope/byName.ts';
import { opening } from '../envelope/calls.ts';
import type { Envelope } from '../envelope/envelope.ts';
import { json } from '../envelope/fields.ts';
import type { Verdict } from '../protocols/protocol.ts';

/** The version of the snapshot's shape. A later one must read the earlier ones. */
export const SNAPSHOT_VERSION = 1;

const envelope = z.custom<Envelope>((value) => typeof value === 'object' && value !== null && 'type' in value);
const event = z.object({ seq: z.number(), envelope });
const verdict = z.custom<Verdict>((value) => Array.isArray(value) && typeof value[0] === 'string');
const memos = z.array(z.tuple([z.string(), z.string(), verdict, z.number(), z.number()]));

const effect = z.object({ key: z.string(), name: z.enum(['escalate', 'rollback']), input: byName(json) });
/** An effect under its idempotency key. */
export type PendingEffect = z.infer<typeof effect>;

/** What happened to the messages, as numbers. */
export const counters = z.object({
  received: z.number(),
  accepted: z.number(),
  repeated: z.number(),
  refused: z.number(),
  unhandled: z.number(),
  hops_exhausted: z.number(),
});
export type Counters = z.infer<typeof counters>;

/** All that a run hands to the next one, as JSON. */
export function snapshotSchema<S>(state: z.ZodType<S>) {
  return z.object({
    v: z.literal(SNAPSHOT_VERSION),
    started: z.number(),
    config: byName(json),
    config_ignored: z.array(z.string()).optional(),
    opened: opening.optional(),
    spoiled: z.boolean(),
    final: z.object({ at: z.number(), outcome: envelope }).optional(),
    log: z.object({ head: z.number(), events: z.array(event) }),
    /** Up to this number `{area}.accepted` was logged, too. Absent in a run of revision 1, which logs it to its end. */
    acceptances_logged_until: z.number().optional(),
    memory: z.object({
      recent: memos,
      spared: memos,
      pinned: memos,
      /** Only earlier versions read it. */
      senders: z.array(z.unknown()),
    }),
    subscribers: z.object({
      agents: z.array(z.tuple([z.string(), z.string()])),
      outbox: z.array(z.object({ to: z.array(z.string()), envelope })),
    }),
    mirror: z.object({
      pending: z.array(event),
      digest: z.object({ from_seq: z.number(), to_seq: z.number(), counts: byName(z.number()) }).optional(),
    }),
    effects: z.array(effect),
    /** How many were ever started; absent in what revision 1 left. */
    effects_issued: z.number().optional(),
    counters,
    /** How many messages had been received when deadlines were put off last after an absence. */
    resumed_after: z.number().optional(),
    state,
  });
}

export type Snapshot<S> = z.infer<ReturnType<typeof snapshotSchema<S>>>;
