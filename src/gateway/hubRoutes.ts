import type { OpenAPIHono } from '@hono/zod-openapi';
import { z } from 'zod';
import { HUB_PATHS } from '../client/hubTransport.ts';
import { EVERYONE, receiveArgs } from '../envelope/calls.ts';
import type { Base } from '../envelope/envelope.ts';
import { agentId, json, key, roomName } from '../envelope/fields.ts';
import { MAX_ENVELOPE_BYTES, MAX_REQUEST_BYTES, MAX_REQUEST_ENVELOPES } from '../envelope/limits.ts';
import { explain, parseErrors } from '../envelope/refusal.ts';
import { checkRoom, endOf, withPatience, type GatewayEnv, type Services } from './context.ts';
import { Problem, unavailable } from './errors.ts';
import { atMost, jsonOf } from './guard.ts';
import { read } from './read.ts';
import { roomOf, targetAt } from './sources.ts';
import { maySpeakFor, type StoredToken } from './tokens.ts';

/** The parts of a message that the hub looks at; all else is for its workflow to judge. */
const message = z.looseObject({ type: z.string(), id: key, from: agentId, ts: z.string() });

const requestCall = z.object({
  workflow_id: z.string().max(255),
  messages: z.array(message).min(1).max(MAX_REQUEST_ENVELOPES),
  config: z.record(z.string(), json).optional(),
});
const receiveCall = z.object({ workflow_id: z.string().max(255), ...receiveArgs.shape });
const viewCall = z.object({ workflow_id: z.string().max(255), query: z.record(z.string(), json).optional() });

/** The hub: many processes of agents work through this one, with one `request` and one `receive` in flight a workflow. */
export function hubRoutes(app: OpenAPIHono<GatewayEnv>, services: Services): void {
  const { hub, feeds } = services;
  // Room for the address beside the messages.
  app.use(HUB_PATHS.request, atMost(MAX_REQUEST_BYTES + MAX_ENVELOPE_BYTES));
  app.use(HUB_PATHS.receive, atMost(MAX_REQUEST_BYTES));
  app.use(HUB_PATHS.view, atMost(MAX_ENVELOPE_BYTES));

  app.post(HUB_PATHS.request, async (c) => {
    const token = c.get('token');
    const { workflow_id: workflowId, messages, config } = parsed(requestCall, jsonOf(await c.req.text()));
    const room = roomAt(token, workflowId);
    for (const one of messages) checkSender(token, one);
    const target = targetAt(room, workflowId, token.hub ? config : undefined);
    const answers = Promise.all(messages.map(async (one) => await hub.send(target, one as Base)));
    const replies = await withPatience(answers, () => unavailable('no answer in time: send the same again'));
    return c.json({ replies });
  });

  app.post(HUB_PATHS.receive, async (c) => {
    const token = c.get('token');
    const args = parsed(receiveCall, jsonOf(await c.req.text()));
    roomAt(token, args.workflow_id);
    if (!token.hub && args.agents.some((agent) => !maySpeakFor(token, agent)))
      throw new Problem('unauthorized', `agents holds another than ${token.agent}, which is who this token is for`);
    if (args.agents.includes(EVERYONE) && !token.operator)
      throw new Problem('unauthorized', 'agents holds *, which is for operators');
    const feed = feeds.of(args.workflow_id);
    const release = feed.hold();
    const end = endOf(c, services);
    try {
      await withPatience(feed.ready(end.signal), () => unavailable(`${args.workflow_id} does not answer: come again`));
      const after = args.after < 0 ? feed.head : args.after;
      const found = await read(feed, new Set(args.agents), { ...args, after }, end.signal, services.metrics);
      if (!feed.exists) throw new Problem('unknown', `there is no ${args.workflow_id}`);
      return c.json(found);
    } finally {
      release();
      end.release();
    }
  });

  app.post(HUB_PATHS.view, async (c) => {
    const { workflow_id: workflowId, query } = parsed(viewCall, jsonOf(await c.req.text()));
    roomAt(c.get('token'), workflowId);
    const late = () => unavailable(`${workflowId} does not answer: come again`);
    const end = endOf(c, services);
    try {
      return c.json({ view: (await withPatience(hub.view(workflowId, query, end.signal), late)) ?? null });
    } finally {
      end.release();
    }
  });
}

/** The room of a workflow that the token is for. */
function roomAt(token: StoredToken, workflowId: string): string {
  const room = roomOf(workflowId);
  if (room === undefined || !roomName.safeParse(room).success)
    throw new Problem('invalid_envelope', 'workflow_id is none of Synod’s');
  checkRoom(token, room);
  return room;
}

function checkSender(token: StoredToken, { from, reply_to: replyTo }: z.infer<typeof message>): void {
  if (!maySpeakFor(token, from))
    throw new Problem('unauthorized', `from is not ${token.agent}, which is who this token is for`);
  if (replyTo !== undefined && !token.hub) throw new Problem('unauthorized', 'reply_to is for workflows');
}

function parsed<T>(schema: z.ZodType<T>, raw: unknown): T {
  const result = schema.safeParse(raw, parseErrors);
  if (result.success) return result.data;
  throw new Problem('invalid_envelope', explain(result.error, 'body'));
}
