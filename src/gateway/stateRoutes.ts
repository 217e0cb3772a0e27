import { createRoute, z, type OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { MAX_STATE_PAGE } from '../envelope/state.ts';
import { name, roomName } from '../envelope/fields.ts';
import { MAX_ENVELOPE_BYTES } from '../envelope/limits.ts';
import { bodyOf, type Envelope } from '../envelope/envelope.ts';
import { checkRoom, type GatewayEnv, type Services } from './context.ts';
import { Problem } from './errors.ts';
import { atMost, jsonOf } from './guard.ts';
import { answers, errors, security } from './openapi.ts';
import { post } from './post.ts';

const room = roomName.meta({ param: { name: 'room', in: 'path' }, example: 'lab' });
const namespace = name.meta({ param: { name: 'namespace', in: 'path' }, example: 'cfg' });
const keyParam = z.object({
  room,
  namespace,
  key: name.meta({ param: { name: 'key', in: 'path' }, example: 'limits' }),
});

const seconds = z
  .string()
  .regex(/^\d+(\.\d+)?$/, 'must be a number of seconds > 0')
  .transform(Number)
  .optional();
const token = z
  .string()
  .regex(/^\d+$/, 'must be a whole number >= 1')
  .transform(Number)
  .optional()
  .describe('The fencing token of the lock that the key is bound to.');
const writeQuery = z.object({ ttl_seconds: seconds.describe('Seconds until it expires; default: never.'), token });
const listQuery = z.object({
  prefix: name.optional(),
  after: name.optional().describe('The `next` of the page before.'),
  limit: z.string().regex(/^\d+$/, `must be a whole number from 1 to ${MAX_STATE_PAGE}`).transform(Number).optional(),
  values: z.enum(['true', 'false'], 'must be true or false').default('false'),
});

const conditions = z.object({
  'if-match': z.string().optional().describe('Only where the key has this version, e.g. `"17"`.'),
  'if-none-match': z.string().optional().describe('`*`: only where the key does not exist.'),
  'idempotency-key': z.string().optional().describe('The same key of the same agent is the same write.'),
});

const entry = z
  .looseObject({ key: z.string(), value: z.unknown(), version: z.int() })
  .meta({ id: 'StateEntry', description: 'A key, its value, its version, and who wrote it when.' });
const written = z.looseObject({ version: z.int() }).meta({ id: 'StateWritten' });
const pageOfKeys = z.looseObject({ entries: z.array(z.looseObject({ key: z.string() })), revision: z.int() });

const path = '/v1/rooms/{room}/state/{namespace}/{key}';
const getRoute = createRoute({
  method: 'get',
  path,
  summary: 'Read a key',
  security,
  request: { params: keyParam },
  responses: {
    200: answers('The entry; its version is the `ETag`.', entry),
    ...errors(400, 401, 403, 404, 429, 503),
  },
});
const putRoute = createRoute({
  method: 'put',
  path,
  summary: 'Write a key',
  description:
    'The body is the value, JSON of at most 8 KiB. With `If-Match` or `If-None-Match: *` only where that holds.',
  security,
  request: {
    params: keyParam,
    query: writeQuery,
    headers: conditions,
    body: { required: true, content: { 'application/json': { schema: {} } } },
  },
  responses: {
    200: answers('Written; its version is the `ETag`.', written),
    201: answers('Made: it did not exist.', written),
    412: answers('The condition does not hold; the entry as it is.', entry),
    ...errors(400, 401, 403, 409, 413, 429, 503),
  },
});
const deleteRoute = createRoute({
  method: 'delete',
  path,
  summary: 'Delete a key',
  security,
  request: { params: keyParam, query: writeQuery.pick({ token: true }), headers: conditions },
  responses: {
    200: answers('Deleted, or not there.', written),
    412: answers('The condition does not hold; the entry as it is.', entry),
    ...errors(400, 401, 403, 409, 429, 503),
  },
});
const listRoute = createRoute({
  method: 'get',
  path: '/v1/rooms/{room}/state/{namespace}',
  summary: 'Page through the keys of a namespace',
  security,
  request: { params: z.object({ room, namespace }), query: listQuery },
  responses: { 200: answers('Keys in the order of their code units.', pageOfKeys), ...errors(400, 401, 403, 429, 503) },
});

/** Shared state by plain HTTP: a key's version is its `ETag`. */
export function stateRoutes(app: OpenAPIHono<GatewayEnv>, services: Services): void {
  app.put(putRoute.getRoutingPath(), atMost(MAX_ENVELOPE_BYTES));

  /** Sends a message for the caller; returns the first reply. */
  async function ask(c: Context<GatewayEnv>, to: string, message: { readonly [field: string]: unknown }) {
    const caller = c.get('token');
    checkRoom(caller, to);
    const given = Object.fromEntries(Object.entries(message).filter(([, value]) => value !== undefined));
    const { replies } = await post(services, to, caller, given);
    const [first] = replies;
    if (!first) throw new Problem('internal', 'the state store did not answer');
    return first;
  }

  app.openapi(getRoute, async (c) => {
    const { room: to, ...about } = c.req.valid('param');
    const { namespace: of, key } = about;
    const found = await ask(c, to, { type: 'state.get', namespace: of, keys: [key] });
    const [first] = entries.parse(found).entries;
    if (!first) throw new Problem('unknown', `there is no key ${key} in namespace ${of} of room ${to}`);
    return c.json(first, 200, { etag: etagOf(first.version) });
  });

  app.openapi(putRoute, async (c) => {
    const { room: to, ...about } = c.req.valid('param');
    const { 'idempotency-key': idempotencyKey, ...headers } = c.req.valid('header');
    const expected = versionIn(headers);
    const answer = await ask(c, to, {
      type: 'state.put',
      ...about,
      value: jsonOf(await c.req.text()),
      ...c.req.valid('query'),
      if_version: expected,
      idempotency_key: idempotencyKey,
    });
    if (answer.type === 'state.conflict') return c.json(entryOf(answer), 412, { etag: etagOf(answer['version']) });
    return c.json(entryOf(answer), expected === 0 ? 201 : 200, { etag: etagOf(answer['version']) });
  });

  app.openapi(deleteRoute, async (c) => {
    const { room: to, ...about } = c.req.valid('param');
    const { 'idempotency-key': idempotencyKey, ...headers } = c.req.valid('header');
    const answer = await ask(c, to, {
      type: 'state.delete',
      ...about,
      ...c.req.valid('query'),
      if_version: versionIn(headers),
      idempotency_key: idempotencyKey,
    });
    if (answer.type === 'state.conflict') return c.json(entryOf(answer), 412, { etag: etagOf(answer['version']) });
    return c.json(entryOf(answer), 200);
  });

  app.openapi(listRoute, async (c) => {
    const { room: to, namespace: of } = c.req.valid('param');
    const { values, ...query } = c.req.valid('query');
    const answer = await ask(c, to, { type: 'state.list', namespace: of, values: values === 'true', ...query });
    return c.json(entryOf(answer), 200);
  });
}

const entries = z.object({ entries: z.array(z.looseObject({ version: z.number() })) });

/** What an answer says of the key, without what is of the envelope. */
function entryOf(answer: Envelope) {
  const { type: _, ...entry } = bodyOf(answer);
  return entry;
}

function etagOf(version: unknown): string {
  return `"${String(version)}"`;
}

/** The version that the caller's conditions name; undefined where it names none. @throws Problem naming the header. */
function versionIn(headers: z.infer<typeof conditions>): number | undefined {
  const { 'if-match': match, 'if-none-match': none } = headers;
  if (none !== undefined && none.trim() !== '*')
    throw new Problem('invalid_envelope', 'if-none-match must be *: only where the key does not exist');
  if (match === undefined) return none === undefined ? undefined : 0;
  const version = /^"(\d{1,15})"$/.exec(match.trim())?.[1];
  if (version === undefined) throw new Problem('invalid_envelope', 'if-match must be a version in quotes, e.g. "17"');
  if (none !== undefined) throw new Problem('invalid_envelope', 'if-match and if-none-match exclude each other');
  return Number(version);
}
