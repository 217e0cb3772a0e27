import { z } from 'zod';
import { message, type Envelope } from './envelope.ts';
import { agentId, capabilities, isJson, name, text, whole } from './fields.ts';
import { MAX_JSON_DEPTH } from './limits.ts';

const MAX_POST_CHARACTERS = 4_000;

/** Messages to a room, `synod:{room}:room`. */
export const roomMessages = {
  /** Introduces an agent: what it is, what it is here for, what it can do. */
  'room.join': message('room.join', { kind: name, purpose: text, capabilities: capabilities.optional() }),
  'room.post': message('room.post', {
    text: text
      .min(1, 'must not be empty')
      .refine(
        (value) => characters(value) <= MAX_POST_CHARACTERS,
        `must have at most ${MAX_POST_CHARACTERS} characters`,
      ),
  }),
  /** For operators: nobody is to begin anything new in this room, until it is resumed. */
  'room.pause': message('room.pause', { reason: text.min(1, 'must not be empty').optional() }),
  /** For operators. */
  'room.resume': message('room.resume', {}),
};

export type RoomMessage = z.infer<(typeof roomMessages)[keyof typeof roomMessages]>;

function characters(value: string): number {
  return value.length <= MAX_POST_CHARACTERS ? value.length : Array.from(value).length;
}

/** What a room's board shows. */
export const BOARD_KINDS = ['task', 'coordinator', 'proposal', 'barrier'] as const;
/** How it can stand. */
export const BOARD_STATUSES = [
  'open',
  'held',
  'vacant',
  'escalated',
  'completed',
  'failed',
  'cancelled',
  'committed',
  'released',
] as const;

/** One line of a room's board: something that is open, or ended a while ago. */
export const boardRow = z.object({
  id: name,
  kind: name,
  status: name,
  holder: agentId.optional(),
  since: z.string(),
  priority: whole(1, 5).optional(),
  capabilities: capabilities.optional(),
});
export type BoardRow = z.infer<typeof boardRow>;
/** A page of the board; `next` is the `after` of the next one. */
export const boardPage = z.object({ rows: z.array(boardRow), next: z.string().optional() });

const logged = z.custom<Envelope>(
  (value) => typeof value === 'object' && value !== null && 'type' in value && isJson(value, MAX_JSON_DEPTH + 2),
  'must be an envelope',
);

/** What the primitives of a room send it by the signal `publish`. */
export const publication = z.object({
  source: z.string().min(1).max(255),
  events: z.array(z.object({ seq: whole(1), envelope: logged })).max(1_000),
  row: boardRow.optional(),
  /** When the source was started, epoch milliseconds: an id that is taken anew after a failure counts from 1 again. */
  life: z.number().optional(),
  /** The source has ended and publishes no more. */
  final: z.boolean().optional(),
});
export type Publication = z.infer<typeof publication>;

/** The board's page that `view` is asked for. */
export const boardQuery = z.object({
  board: z.literal(true),
  kind: name.optional(),
  /** Only rows of this status, e.g. `open`. */
  status: name.optional(),
  after: z.string().optional(),
  limit: whole(1, 1_000).default(200),
});
export type BoardQuery = z.infer<typeof boardQuery>;
