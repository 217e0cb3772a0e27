import { z } from 'zod';

/** What a process of the bench is to do; it prepares, sends `ready`, and begins at `go`. */
export const order = z.discriminatedUnion('kind', [
  /** Updates on the bench's own workflow, one at a time. */
  z.object({ kind: z.literal('bare'), address: z.string(), workflowId: z.string(), ...bounds() }),
  /** `room.post` by so many agents of this process, each one at a time. */
  z.object({
    kind: z.literal('post'),
    address: z.string(),
    room: z.string(),
    name: z.string(),
    agents: z.number(),
    /** Holds one `receive` beside. */
    listen: z.boolean(),
    /** Works through this hub instead of its own connection. */
    hub: z.object({ url: z.string(), token: z.string() }).optional(),
    ...bounds(),
  }),
  /** Takes and releases a lock, each published to the room, by so many agents of this process, each one at a time. */
  z.object({
    kind: z.literal('lock'),
    address: z.string(),
    room: z.string(),
    name: z.string(),
    agents: z.number(),
    /** All of one lock; otherwise each of one of its own. */
    shared: z.boolean(),
    /** Works through this hub instead of its own connection. */
    hub: z.object({ url: z.string(), token: z.string() }).optional(),
    ...bounds(),
  }),
  /** Holds so many streams of a gateway open, spread over its processes; each entry received is one operation. */
  z.object({
    kind: z.literal('streams'),
    url: z.string(),
    token: z.string(),
    room: z.string(),
    streams: z.number(),
    seconds: z.number(),
  }),
  /** Waits for the events of a room, and sends nothing. */
  z.object({ kind: z.literal('idle'), address: z.string(), room: z.string(), seconds: z.number() }),
]);
export type Order = z.infer<typeof order>;

function bounds() {
  return { seconds: z.number(), maxOps: z.number() };
}

/** The result of an order. */
export const outcome = z.object({
  kind: z.literal('outcome'),
  seconds: z.number(),
  /** Milliseconds of each operation. */
  latencies: z.array(z.number()),
  /** Failures that reached the user, by their message. */
  errors: z.record(z.string(), z.number()),
  /** What the client repeated by itself, by cause. */
  retries: z.record(z.string(), z.number()),
  /** Entries of the log that its listener received. */
  received: z.number(),
});
export type Outcome = z.infer<typeof outcome>;

export const fromProcess = z.discriminatedUnion('kind', [z.object({ kind: z.literal('ready') }), outcome]);
export const toProcess = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('order'), order }),
  z.object({ kind: z.literal('go') }),
]);
export type ToProcess = z.infer<typeof toProcess>;
