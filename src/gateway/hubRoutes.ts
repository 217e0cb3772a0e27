import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { z } from 'zod';
import { HUB_PATHS } from '../client/transport/hubTransport.ts';
import { EVERYONE } from '../envelope/calls.ts';
import type { Base } from '../envelope/envelope.ts';
import { roomName } from '../envelope/fields.ts';
import { MAX_ENVELOPE_BYTES, MAX_REQUEST_BYTES } from '../envelope/limits.ts';
import { explain, parseErrors } from '../envelope/refusal.ts';
import {
  checkRoom,
  endOf,
  openedFeed,
  withPatience,
  type GatewayEnv,
  type OpenedFeed,
  type Services,
} from './context.ts';
import { Problem, unavailable } from './errors.ts';
import { atMost, jsonOf } from './guard.ts';
import { describeHub, receiveCall, requestCall, streamCall, viewCall } from './hubCalls.ts';
import { read } from './read.ts';
import { roomOf, targetAt } from './sources.ts';
import { streamed } from './streaming.ts';
import { maySpeakFor, type StoredToken } from './tokens.ts';

/** The hub: many processes of agents work through this one, with one `request` and one `receive` in flight a workflow. */
export function hubRoutes(app: OpenAPIHono<GatewayEnv>, services: Services): void {
  const { connection } = services;
  // Room for the address beside the messages.
  app.post(HUB_PATHS.request, atMost(MAX_REQUEST_BYTES + MAX_ENVELOPE_BYTES));
  app.post(HUB_PATHS.receive, atMost(MAX_REQUEST_BYTES));
  app.post(HUB_PATHS.stream, atMost(MAX_REQUEST_BYTES));
  app.post(HUB_PATHS.view, atMost(MAX_ENVELOPE_BYTES));
  describeHub(app);

  app.post(HUB_PATHS.request, async (c) => {
    const token = c.get('token');
    const { workflow_id: workflowId, messages, config } = parsed(requestCall, jsonOf(await c.req.text()));
    const room = roomAt(token, workflowId);
    for (const one of messages) checkSender(token, one);
    const target = targetAt(room, workflowId, token.hub ? config : undefined);
    const send = async (givenUp: AbortSignal) =>
      await Promise.all(messages.map(async (one) => await connection.send(target, one as Base, givenUp)));
    const replies = await withPatience(send, () => unavailable('no answer in time: send the same again'));
    return c.json({ replies });
  });

  app.post(HUB_PATHS.receive, async (c) => {
    const { args, feed, after, end, release } = await openedCall(c, services, receiveCall);
    try {
      const found = await read(feed, new Set(args.agents), { ...args, after }, end, services.metrics);
      if (!feed.exists) throw new Problem('unknown', `there is no ${args.workflow_id}`);
      return c.json(found);
    } finally {
      release();
    }
  });

  app.post(HUB_PATHS.stream, async (c) => {
    const { args, feed, after, end, release } = await openedCall(c, services, streamCall);
    try {
      await feed.covers(after, end);
      if (!feed.exists) throw new Problem('unknown', `there is no ${args.workflow_id}`);
      return streamed(c, services, { feed, agents: new Set(args.agents), after, release });
    } catch (error) {
      release();
      throw error;
    }
  });

  app.post(HUB_PATHS.view, async (c) => {
    const { workflow_id: workflowId, query } = parsed(viewCall, jsonOf(await c.req.text()));
    roomAt(c.get('token'), workflowId);
    const late = () => unavailable(`${workflowId} does not answer: come again`);
    const end = endOf(c, services);
    try {
      const read = async (givenUp: AbortSignal) =>
        await connection.view(workflowId, query, AbortSignal.any([end.signal, givenUp]));
      const view = await withPatience(read, late);
      return c.json({ view: view ?? null });
    } finally {
      end.release();
    }
  });
}

/** The log that a call is to read, and from where, once it is here. */
async function openedCall<Args extends z.infer<typeof streamCall>>(
  c: Context<GatewayEnv>,
  services: Services,
  schema: z.ZodType<Args>,
): Promise<OpenedFeed & { args: Args; after: number }> {
  const args = parsed(schema, jsonOf(await c.req.text()));
  const { workflow_id: workflowId } = args;
  checkReader(c.get('token'), args);
  const open = await openedFeed(c, services, workflowId, workflowId);
  return { ...open, args, after: args.after < 0 ? open.feed.head : args.after };
}

function checkReader(token: StoredToken, { workflow_id: workflowId, agents }: z.infer<typeof streamCall>): void {
  roomAt(token, workflowId);
  if (!token.hub && agents.some((agent) => !maySpeakFor(token, agent)))
    throw new Problem('unauthorized', `agents holds another than ${token.agent}, which is who this token is for`);
  if (agents.includes(EVERYONE) && !token.operator)
    throw new Problem('unauthorized', 'agents holds *, which is for operators');
}

/** The room of a workflow that the token is for. */
function roomAt(token: StoredToken, workflowId: string): string {
  const room = roomOf(workflowId);
  if (room === undefined || !roomName.safeParse(room).success)
    throw new Problem('invalid_envelope', 'workflow_id is none of Synod’s');
  checkRoom(token, room);
  return room;
}

function checkSender(
  token: StoredToken,
  { from, reply_to: replyTo }: z.infer<typeof requestCall>['messages'][number],
): void {
  if (!maySpeakFor(token, from))
    throw new Problem('unauthorized', `from is not ${token.agent}, which is who this token is for`);
  if (replyTo !== undefined && !token.hub) throw new Problem('unauthorized', 'reply_to is for workflows');
}

function parsed<T>(schema: z.ZodType<T>, raw: unknown): T {
  const result = schema.safeParse(raw, parseErrors);
  if (result.success) return result.data;
  throw new Problem('invalid_envelope', explain(result.error, 'body'));
}
