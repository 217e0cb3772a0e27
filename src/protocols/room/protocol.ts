import { z } from 'zod';
import type { Envelope } from '../../envelope/envelope.ts';
import { formatTimestamp, whole, type Json } from '../../envelope/fields.ts';
import { fitsBytes, MAX_LOG_ENTRIES } from '../../envelope/limits.ts';
import { boardQuery, roomMessages, type Publication, type RoomMessage } from '../../envelope/room.ts';
import { explain, parseErrors, SynodError } from '../../envelope/refusal.ts';
import type { Context, Decision, Protocol } from '../protocol.ts';
import { plain } from '../../envelope/plain.ts';
import { rules } from '../protocol.ts';
import { boardState, counts, emptyBoard, forget, lastSeq, nextForgetting, page, record } from './board.ts';

/** Introductions kept, and their size in bytes of JSON; the oldest go first. */
const MAX_AGENTS = 500;
const MAX_AGENTS_SIZE = 64 * 1024;

const agent = z.object({
  kind: z.string(),
  purpose: z.string(),
  capabilities: z.array(z.string()).optional(),
  since: z.number(),
});

const roomState = z.object({
  /** Who introduced itself, in the order of introduction. */
  agents: z.array(z.tuple([z.string(), agent])),
  board: boardState,
  /** Who has paused the room, and when; absent while it is not paused. */
  paused: z.object({ by: z.string(), since: z.number(), reason: z.string().optional() }).optional(),
});
export type RoomState = z.infer<typeof roomState>;

/**
 * A room: the ordered log of all that its primitives emit and its agents post, and the board of what is open.
 * Source: "Discord Break Rooms for AI Agents" (introductions, one place to watch), on a durable log.
 */
export const room: Protocol<RoomState, RoomMessage> = {
  workflowType: 'room',
  kind: 'room',
  area: 'room',
  messages: rules<RoomMessage>(roomMessages, ['room.pause', 'room.resume']),
  queryField: 'board',
  config: { retain: whole(1, MAX_LOG_ENTRIES) },
  state: roomState,

  initial: () => ({ agents: [], board: emptyBoard }),

  decide(state, input, context) {
    switch (input.kind) {
      case 'message':
        return onMessage(state, input.message, context);
      case 'publish':
        return onPublish(state, input.publication, context);
      case 'deadline':
        return { state: { ...state, board: forget(state.board, context.now) } };
      default:
        return { state };
    }
  },

  answer: (message) => [{ type: 'room.accepted', to: message.from }],
  since: () => [],

  nextDeadline({ board }) {
    const at = nextForgetting(board);
    return at === null ? null : { at, summary: 'an ended source is forgotten' };
  },

  view(state, query) {
    if (query !== undefined && query !== null) {
      const parsed = boardQuery.safeParse(query, parseErrors);
      if (!parsed.success) throw new SynodError('invalid_envelope', explain(parsed.error, 'query'));
      return { ...page(state.board, parsed.data), paused: state.paused !== undefined };
    }
    return {
      agents: state.agents.map(([id, known]) => ({ ...shown(known), id, since: formatTimestamp(known.since) })),
      board: counts(state.board),
      board_truncated: state.board.truncated,
      ...(state.paused ? { paused: { ...state.paused, since: formatTimestamp(state.paused.since) } } : {}),
    };
  },

  details(state) {
    const open = Object.entries(counts(state.board)).map(([what, n]) => `${n} ${what.replace('.', ' ')}`);
    return [
      ...(state.paused ? [`Paused by ${state.paused.by} since ${formatTimestamp(state.paused.since)}.`] : []),
      `${state.agents.length} introduced: ${
        state.agents
          .slice(-20)
          .map(([id, known]) => `${id} (${plain(known.kind)})`)
          .join(', ') || 'nobody yet'
      }.`,
      `On the board: ${open.join(', ') || 'nothing'}.`,
    ].join('\n');
  },

  row: () => undefined,
  outcome: () => undefined,
  involves: () => false,
};

function onMessage(state: RoomState, message: RoomMessage, { now }: Context): Decision<RoomState> {
  if (message.type === 'room.post') return { state, verdict: ['accepted'] };
  if (message.type !== 'room.join') return onPause(state, message, now);
  const known = state.agents.find(([id]) => id === message.from)?.[1];
  const { kind, purpose, capabilities } = message;
  const introduction = { kind, purpose, ...(capabilities ? { capabilities } : {}), since: known?.since ?? now };
  // The same introduction again is no news.
  if (known && JSON.stringify(shown(known)) === JSON.stringify(shown(introduction))) {
    return { state, verdict: ['accepted'], quiet: true };
  }
  const agents = [
    ...state.agents.filter(([id]) => id !== message.from),
    [message.from, introduction] satisfies RoomState['agents'][number],
  ];
  while (agents.length > MAX_AGENTS || !fitsBytes(JSON.stringify(agents), MAX_AGENTS_SIZE)) agents.shift();
  return { state: { ...state, agents }, verdict: ['accepted'] };
}

/** Pausing what is paused, or resuming what is not, changes nothing and is not logged. */
function onPause(
  { paused, ...rest }: RoomState,
  message: Extract<RoomMessage, { type: 'room.pause' | 'room.resume' }>,
  now: number,
): Decision<RoomState> {
  if (message.type === 'room.resume') return { state: rest, verdict: ['accepted'], quiet: paused === undefined };
  if (paused) return { state: { ...rest, paused }, verdict: ['accepted'], quiet: true };
  const { from: by, reason } = message;
  return {
    state: { ...rest, paused: { by, since: now, ...(reason === undefined ? {} : { reason }) } },
    verdict: ['accepted'],
  };
}

function shown({ kind, purpose, capabilities }: z.infer<typeof agent>): { [field: string]: Json } {
  return { kind, purpose, ...(capabilities ? { capabilities } : {}) };
}

function onPublish(state: RoomState, publication: Publication, { now }: Context): Decision<RoomState> {
  const last = lastSeq(state.board, publication);
  const relay: Envelope[] = publication.events
    .filter(({ seq }) => seq > last)
    .map(({ seq, envelope }) => ({ ...envelope, source: publication.source, source_seq: seq }));
  return { state: { ...state, board: record(state.board, publication, now) }, relay };
}
