import { bodyLimit } from 'hono/body-limit';
import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import type { GatewayEnv, Services } from './context.ts';
import { closingProblem, Problem, unavailable } from './errors.ts';
import type { StoredToken } from './tokens.ts';
import type { TokenSource } from './tokenStore.ts';

const BEARER = /^Bearer +(\S+) *$/i;

/** Who is calling, and how often: before anything of the body is read. */
export function guard({ tokens, rates, closing }: Services) {
  return createMiddleware<GatewayEnv>(async (c, next) => {
    if (closing.aborted) throw closingProblem();
    const given = BEARER.exec(c.req.header('authorization') ?? '')?.[1];
    const token = given === undefined ? undefined : await found(tokens, given);
    if (!token) {
      throw new Problem('unauthorized', 'a valid token is needed: Authorization: Bearer TOKEN', {
        status: 401,
        headers: { 'www-authenticate': 'Bearer realm="synod"' },
      });
    }
    await rates.take(token);
    const release = rates.hold(token);
    let kept = false;
    c.set('token', token);
    c.set('keepOpen', () => {
      kept = true;
      return release;
    });
    try {
      await next();
    } finally {
      // What a handler throws is already an answer here.
      if (!kept || c.error) release();
    }
  });
}

/** @throws Problem `unavailable` where it cannot be found out whether there is such a token. */
async function found(tokens: TokenSource, given: string): Promise<StoredToken | undefined> {
  try {
    return await tokens.find(given);
  } catch (cause) {
    throw unavailable('tokens cannot be looked up: come again', {}, cause);
  }
}

/** Bodies of more than so many bytes are refused, and not read to their end. */
export function atMost(bytes: number) {
  return bodyLimit({
    maxSize: bytes,
    onError: () => {
      // The rest of the body is still on its way: the connection can carry nothing else.
      throw new Problem('over_limit', `the body is larger than ${bytes} bytes`, { headers: { connection: 'close' } });
    },
  });
}

/** A request's body as JSON. @throws Problem `invalid_envelope`. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem('invalid_envelope', 'envelope must be a JSON object');
  }
}

/** Counts every request under its route. */
export function measured({ metrics }: Services) {
  return createMiddleware(async (c, next) => {
    const at = performance.now();
    await next();
    const labels = { method: c.req.method, route: routePath(c, -1) };
    metrics.requests.inc({ ...labels, status: String(c.res.status) });
    metrics.seconds.observe(labels, (performance.now() - at) / 1000);
  });
}
