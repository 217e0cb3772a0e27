import { z } from '@hono/zod-openapi';
import { agentId, name, roomName } from '../envelope/fields.ts';
import { boardRow } from '../envelope/room.ts';
import { MAX_RECEIVE_EVENTS, MAX_WAIT_SECONDS } from '../envelope/limits.ts';

/** Schemas of what the gateway is asked and what it answers, beside the envelopes. */

export const roomParam = z.object({
  room: roomName.meta({ param: { name: 'room', in: 'path' }, example: 'lab' }),
});

const numeric = (rule: string) =>
  z
    .string()
    .regex(/^-?\d+$/, rule)
    .transform(Number);

const after = z
  .string()
  .min(1, 'must be a seq or the id of a message')
  .max(128, 'must be a seq or the id of a message')
  .describe(
    'The `seq`, or the `id` of the message, that was read last. 0: from the oldest that is kept; -1: from now on.',
  );
const source = name
  .default('room')
  .describe(
    'Whose log: `room` (which has all that the room’s primitives log), or, with less delay, one primitive: `locks`, `task:NAME`, `coordinator:ROLE`, `proposal:NAME`, `barrier:PHASE`, `state:NAMESPACE`.',
  );

export const messagesQuery = z.object({
  after: after.default('0'),
  limit: numeric(`must be a whole number from 1 to ${MAX_RECEIVE_EVENTS}`)
    .pipe(
      z
        .int()
        .min(1, `must be a whole number from 1 to ${MAX_RECEIVE_EVENTS}`)
        .max(MAX_RECEIVE_EVENTS, `must be a whole number from 1 to ${MAX_RECEIVE_EVENTS}`),
    )
    .default(MAX_RECEIVE_EVENTS)
    .describe('At most so many events.'),
  wait_seconds: z
    .string()
    .regex(/^\d+(\.\d+)?$/, `must be a number of seconds from 0 to ${MAX_WAIT_SECONDS}`)
    .transform(Number)
    .pipe(z.number().max(MAX_WAIT_SECONDS, `must be a number of seconds from 0 to ${MAX_WAIT_SECONDS}`))
    .default(0)
    .describe('With nothing new, waits so many seconds for an event: long polling.'),
  source,
});

export const streamQuery = z.object({
  after: after.default('-1'),
  source,
  words: z
    .enum(['true', 'false'], 'must be true or false')
    .default('false')
    .describe('Whether each event also has `words`: what it means, as a line for people.'),
});

export const errorBody = z
  .object({
    error: z.object({
      code: z.string().describe('One of the codes of the wire contract, or `rate_limited`, `unavailable`, `internal`.'),
      message: z.string().describe('A sentence that names the field or the holder.'),
      field: z.string().optional().describe('The field at fault.'),
    }),
    id: z.string().optional().describe('The id of the message that was refused.'),
    replies: z.array(z.looseObject({})).optional(),
  })
  .meta({ id: 'Error' });

export const reply = z
  .looseObject({
    type: z.string(),
    id: z.string(),
    from: agentId,
    to: agentId.optional(),
    ts: z.string(),
    in_reply_to: z.string().optional(),
    seq: z.int().optional(),
  })
  .meta({
    id: 'Envelope',
    description: 'An entry of a log, or a reply to a message; its other fields depend on its type.',
  });

export const posted = z
  .object({
    id: z.string().describe('The id of the message.'),
    seq: z.int().optional().describe('The place of its first reply in the log of the primitive that answered.'),
    replies: z.array(reply),
  })
  .meta({ id: 'Posted' });

export const page = z
  .object({
    events: z.array(z.object({ seq: z.int(), envelope: reply })),
    next: z.int().describe('The `after` of the next call.'),
    truncated: z
      .boolean()
      .describe('Something after `after` is not kept any more: read the room, then go on from `next`.'),
    now: z.string().describe('Temporal’s time.'),
  })
  .meta({ id: 'Page' });

export const roomState = z
  .object({
    room: z.string(),
    next: z.int().describe('Where its log ends: the `after` of a reader that starts from here.'),
    agents: z.array(z.looseObject({ id: z.string() })).describe('Who introduced itself.'),
    tasks: z.array(boardRow),
    locks: z.array(z.looseObject({})),
    coordinators: z.array(z.looseObject({})),
    proposals: z.array(z.looseObject({})),
    barriers: z.array(z.looseObject({})),
    truncated: z.boolean().describe('There is more than is shown here.'),
  })
  .meta({ id: 'Room' });
