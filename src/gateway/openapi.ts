import type { OpenAPIHono } from '@hono/zod-openapi';
import { z } from 'zod';
import { messageSchemas } from './incoming.ts';
import type { GatewayEnv } from './context.ts';
import { errorBody } from './schemas.ts';
import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** What the server fills in where it is absent. */
const FILLED_IN = new Set(['id', 'from', 'ts']);

const jsonSchema = z.looseObject({ required: z.array(z.string()).optional() });

/** The name of a message type's schema: `task.announce` is `TaskAnnounce`. */
function componentOf(type: string): string {
  return type.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

const refOf = (type: string) => `#/components/schemas/${componentOf(type)}`;
const types = Object.keys(messageSchemas);

/** Any of the messages. The workflows' own schemas check it; here it is only described, so that every fault is answered in one way. */
export const anyEnvelope = {
  oneOf: types.map((type) => ({ $ref: refOf(type) })),
  discriminator: { propertyName: 'type', mapping: Object.fromEntries(types.map((type) => [type, refOf(type)])) },
};

/** How a call shows who it is from. */
export const security = [{ token: [] }];

/** A schema as the document shows it, for what is checked elsewhere. */
export function plainSchema(schema: z.ZodType<unknown>): z.infer<typeof jsonSchema> {
  const { $schema: _, ...described } = jsonSchema.parse(
    z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' }),
  );
  return described;
}

/** The answer of a route that streams. */
export const eventStream = {
  description: 'A stream without end.',
  content: { 'text/event-stream': { schema: { type: 'string' as const } } },
};

/** A JSON answer of a route. */
export function answers(description: string, schema: z.ZodType<unknown>) {
  return { description, content: { 'application/json': { schema } } };
}

const MEANINGS: Readonly<Record<number, string>> = {
  400: 'Malformed: `error.field` is at fault.',
  401: 'No token, or none that is known.',
  403: 'Not with this token: another room, another `from`, or not this agent’s to do.',
  404: 'There is no such room, task, proposal, barrier or lock.',
  409: 'The same key with another body, or what is asked is somebody else’s, or decided already.',
  410: 'It has ended, or the message’s `expires_at` has passed.',
  412: 'The condition does not hold: the body has the entry as it is.',
  413: 'Too large.',
  422: '`max_hops` is used up.',
  429: 'Too many requests: `Retry-After` says how many seconds to wait.',
  503: 'It is not known whether it was done: send the same again, with the same id or `idempotency_key`.',
};

/** The error answers of a route; each has the same body. */
export function errors<Status extends ContentfulStatusCode>(
  ...statuses: readonly Status[]
): Record<Status, { description: string; content: { 'application/json': { schema: typeof errorBody } } }> {
  const entries = statuses.map((status) => [status, answers(MEANINGS[status] ?? 'An error.', errorBody)]);
  return Object.fromEntries(entries) as ReturnType<typeof errors<Status>>;
}

/** Serves `/openapi.json`, made of the schemas that check the messages. */
export function describe(app: OpenAPIHono<GatewayEnv>): void {
  const { openAPIRegistry: registry } = app;
  registry.registerComponent('securitySchemes', 'token', {
    type: 'http',
    scheme: 'bearer',
    description: 'A token of `synod gateway token add`.',
  });
  for (const [type, schema] of Object.entries(messageSchemas)) {
    const described = plainSchema(schema);
    const required = described.required?.filter((field) => !FILLED_IN.has(field));
    registry.registerComponent('schemas', componentOf(type), { ...described, ...(required ? { required } : {}) });
  }
  app.doc31('/openapi.json', {
    openapi: '3.1.0',
    info: {
      title: 'Synod gateway',
      version: '1',
      description:
        'Durable coordination for groups of agents, by plain HTTP. docs/wire.md says what the messages mean.',
    },
  });
}
