import type { OpenAPIHono } from '@hono/zod-openapi';
import { z } from 'zod';
import { HUB_PATHS } from '../client/transport/hubTransport.ts';
import { byName } from '../envelope/byName.ts';
import { receiveArgs } from '../envelope/calls.ts';
import { agentId, json, key } from '../envelope/fields.ts';
import { MAX_REQUEST_ENVELOPES } from '../envelope/limits.ts';
import type { GatewayEnv } from './context.ts';
import { answers, errors, eventStream, plainSchema, security } from './openapi.ts';
import { page, reply } from './schemas.ts';

// What the hub is asked, and how that is described.

const workflowId = z.string().max(255).describe('The id of a workflow of Synod: `synod:{room}:…`.');

export const requestCall = z.object({
  workflow_id: workflowId,
  /** The hub checks these parts of a message; its workflow checks the rest. */
  messages: z
    .array(z.looseObject({ type: z.string(), id: key, from: agentId, ts: z.string() }))
    .min(1)
    .max(MAX_REQUEST_ENVELOPES),
  config: byName(json)
    .optional()
    .describe('What a workflow is started with that is not there yet; only with a token of a hub.'),
});
export const receiveCall = z.object({ workflow_id: workflowId, ...receiveArgs.shape });
export const streamCall = receiveCall.pick({ workflow_id: true, reader: true, agents: true, after: true });
export const viewCall = z.object({
  workflow_id: workflowId,
  query: byName(json).optional().describe('What of it; absent: the whole of it.'),
});

const REPLIES = z.object({ replies: z.array(z.array(reply)).describe('To each message, in order.') });
const VIEW = z.object({
  view: z.looseObject({}).nullable().describe('The public state of the workflow; null where there is none.'),
});

/** Adds the calls of the hub to the document. */
export function describeHub({ openAPIRegistry: registry }: OpenAPIHono<GatewayEnv>): void {
  const calls = [
    [HUB_PATHS.request, 'Send messages to one workflow', requestCall, answers('What it answered.', REPLIES)],
    [HUB_PATHS.receive, 'Read the log of one workflow', receiveCall, answers('What is for these agents.', page)],
    [HUB_PATHS.stream, 'Read it as it happens', streamCall, eventStream],
    [HUB_PATHS.view, 'Look at one workflow', viewCall, answers('What it shows.', VIEW)],
  ] as const;
  for (const [path, summary, call, answer] of calls) {
    registry.registerPath({
      method: 'post',
      path,
      summary,
      description: 'For processes of agents, as the client of this project calls it: as the handlers of the workflow.',
      security,
      request: { body: { required: true, content: { 'application/json': { schema: plainSchema(call) } } } },
      responses: { 200: answer, ...errors(400, 401, 403, 404, 413, 429, 503) },
    });
  }
}
