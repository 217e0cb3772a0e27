import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MAX_ENVELOPE_BYTES } from '../envelope/limits.ts';
import { checkRoom, openedFeed, withPatience, type OpenedFeed, type GatewayEnv, type Services } from './context.ts';
import { Problem, unavailable } from './errors.ts';
import { anyEnvelope, answers, errors, eventStream, security } from './openapi.ts';
import { atMost, jsonOf } from './guard.ts';
import { post } from './post.ts';
import { agentsOf, cursorOf, read } from './read.ts';
import { messagesQuery, page, posted, roomParam, roomState, streamQuery } from './schemas.ts';
import { sourceTarget } from './sources.ts';
import { stateOf, type RoomState } from './state.ts';
import { streamed } from './streaming.ts';

const postRoute = createRoute({
  method: 'post',
  path: '/v1/rooms/{room}/messages',
  summary: 'Send a message',
  description:
    'One envelope. `id`, `from` and `ts` are filled in where they are absent. It goes to the primitive that its type and its reference name; sent again under the same `idempotency_key` it gets the same answer.',
  security,
  request: { params: roomParam, body: { required: true, content: { 'application/json': { schema: anyEnvelope } } } },
  responses: {
    201: answers('What the primitive answered.', posted),
    ...errors(400, 401, 403, 404, 409, 410, 413, 422, 429, 503),
  },
});

const readRoute = createRoute({
  method: 'get',
  path: '/v1/rooms/{room}/messages',
  summary: 'Read forward',
  security,
  request: { params: roomParam, query: messagesQuery },
  responses: { 200: answers('What is for this agent, or for all.', page), ...errors(400, 401, 403, 404, 429, 503) },
});

const streamRoute = createRoute({
  method: 'get',
  path: '/v1/rooms/{room}/stream',
  summary: 'Read as it happens',
  description:
    'Server-sent events. `id` is the `seq`, `data` one event as in a page; `ready`, `gap` and `end` say where to go on. `Last-Event-ID` resumes.',
  security,
  request: { params: roomParam, query: streamQuery },
  responses: {
    200: eventStream,
    ...errors(400, 401, 403, 404, 429, 503),
  },
});

const stateRoute = createRoute({
  method: 'get',
  path: '/v1/rooms/{room}',
  summary: 'What is going on',
  security,
  request: { params: roomParam },
  responses: { 200: answers('What is open in the room.', roomState), ...errors(400, 401, 403, 404, 429, 503) },
});

/** What agents and people do in rooms. */
export function rooms(app: OpenAPIHono<GatewayEnv>, services: Services): void {
  const { metrics, connection } = services;
  app.post(postRoute.getRoutingPath(), atMost(MAX_ENVELOPE_BYTES));

  app.openapi(postRoute, async (c) => {
    const { room } = c.req.valid('param');
    const token = c.get('token');
    checkRoom(token, room);
    return c.json(await post(services, room, token, jsonOf(await c.req.text())), 201);
  });

  app.openapi(readRoute, async (c) => {
    const { room } = c.req.valid('param');
    const { after, limit, wait_seconds, source } = c.req.valid('query');
    const { feed, agents, end, release } = await openedSource(c, services, { room, source, awaited: wait_seconds > 0 });
    try {
      const found = await read(feed, agents, { after: cursorOf(feed, after), limit, wait_seconds }, end, metrics);
      if (!feed.exists) throw missing(room, source);
      return c.json(found, 200);
    } finally {
      release();
    }
  });

  app.openapi(streamRoute, async (c) => {
    const { room } = c.req.valid('param');
    const { after, source, words } = c.req.valid('query');
    const { feed, agents, end, release } = await openedSource(c, services, { room, source, awaited: true });
    try {
      const from = cursorOf(feed, c.req.header('last-event-id') ?? after);
      await feed.covers(from, end);
      return streamed(c, services, { feed, agents, after: from, words: words === 'true', release });
    } catch (error) {
      release();
      throw error;
    }
  });

  // Many who ask at once get the same state.
  const reading = new Map<string, Promise<RoomState | undefined>>();
  app.openapi(stateRoute, async (c) => {
    const { room } = c.req.valid('param');
    checkRoom(c.get('token'), room);
    const state = reading.get(room) ?? stateOf(connection, room, services.closing).finally(() => reading.delete(room));
    reading.set(room, state);
    const found = await withPatience(
      async () => await state,
      () => unavailable('the room does not answer: come again'),
    );
    if (!found) throw missing(room, 'room');
    return c.json(found, 200);
  });
}

/** The log that a `source` names, and whose messages the caller may read there. */
async function openedSource(
  c: Context<GatewayEnv>,
  services: Services,
  { room, source, awaited }: { room: string; source: string; awaited: boolean },
): Promise<OpenedFeed & { agents: ReadonlySet<string> }> {
  const token = c.get('token');
  checkRoom(token, room);
  const { workflowId } = sourceTarget(room, source);
  const open = await openedFeed(c, services, workflowId, `${source} of room ${room}`);
  // Who waits may be early; who only asks gets 404.
  if (open.feed.exists || awaited) return { ...open, agents: agentsOf(token) };
  open.release();
  throw missing(room, source);
}

function missing(room: string, source: string): Problem {
  return new Problem(
    'unknown',
    source === 'room'
      ? `nothing was ever posted in room ${room}`
      : `there is no ${source} in room ${room}, or it has ended`,
  );
}
