import { setMaxListeners } from 'node:events';
import { OpenAPIHono } from '@hono/zod-openapi';
import type { Client } from '@temporalio/client';
import { SharedConnection } from '../client/connection/sharedConnection.ts';
import { isolated } from '../client/isolated.ts';
import { logToStderr, messageOf, type Log } from '../dev/log.ts';
import { DEFAULT_TASK_QUEUE } from '../envelope/address.ts';
import { explain } from '../envelope/refusal.ts';
import type { GatewayEnv, Services } from './context.ts';
import { closingProblem, Problem, problemOf } from './errors.ts';
import { Feeds } from './feeds.ts';
import { guard, measured } from './guard.ts';
import { hubRoutes } from './hubRoutes.ts';
import { Metrics } from './metrics.ts';
import { describe } from './openapi.ts';
import { page } from './page/routes.ts';
import { Rates } from './rates.ts';
import { rooms } from './rooms.ts';
import type { StoredToken } from './tokens.ts';
import { stateRoutes } from './stateRoutes.ts';
import type { TokenSource } from './tokenStore.ts';

const HEARTBEAT_MS = 15_000;
/** A stream whose client takes nothing for so long is ended. */
const STALL_MS = 60_000;

/** Options of {@link createGateway}. */
export interface GatewayOptions {
  readonly tokens: TokenSource;
  /** Where Synod's workflows run; default `synod`. */
  readonly taskQueue?: string;
  /** Default: one line each on stderr. */
  readonly log?: Log;
  /** Milliseconds between two heartbeats on a stream; default 15,000. */
  readonly heartbeatMs?: number;
  /** Milliseconds after which a stream is ended whose client takes nothing; default 60,000. */
  readonly stallMs?: number;
}

/** A gateway as a handler of `Request`s, for any server that has them. */
export interface Gateway {
  readonly fetch: (request: Request, env?: object) => Response | Promise<Response>;
  /** Ends streams and waits in order; requests that come then get 503. The client stays open. */
  close(): void;
}

/** HTTP for agents without Temporal, and the hub for many processes. */
export function createGateway(client: Client, options: GatewayOptions): Gateway {
  const connection = SharedConnection.of(client, options.taskQueue ?? DEFAULT_TASK_QUEUE);
  const closing = new AbortController();
  // Each request under way listens for the end.
  setMaxListeners(0, closing.signal);
  const feeds = new Feeds(connection);
  const metrics = new Metrics(() => feeds.size);
  const services: Services = {
    connection,
    feeds,
    metrics,
    tokens: options.tokens,
    rates: new Rates(),
    streams: new Map(),
    closing: closing.signal,
    log: isolated('log', options.log ?? logToStderr),
  };
  connection.observe(() => metrics.retries.inc());
  const app = appOf(services);
  const beats = setInterval(
    () => void beat(services, options.stallMs ?? STALL_MS),
    options.heartbeatMs ?? HEARTBEAT_MS,
  );
  return {
    fetch: (request, env) => app.fetch(request, env),
    close() {
      clearInterval(beats);
      closing.abort();
      for (const stream of services.streams.keys()) stream.end('closing');
      feeds.close();
    },
  };
}

function appOf(services: Services): OpenAPIHono<GatewayEnv> {
  const app = new OpenAPIHono<GatewayEnv>({
    defaultHook: (result) => {
      if (!result.success) throw new Problem('invalid_envelope', explain(result.error, result.target));
    },
  });
  app.onError((error, c) => {
    const failed = problemOf(error);
    // What its end has interrupted was not answered, and may be asked for again.
    const problem = failed.code === 'internal' && services.closing.aborted ? closingProblem() : failed;
    if (problem.cause !== undefined)
      services.log(`${c.req.method} ${c.req.path}: ${problem.message} (${messageOf(problem.cause)})`);
    if (problem.code === 'internal') services.log(`${c.req.method} ${c.req.path} failed: ${messageOf(error)}`);
    return c.json(problem.body, problem.status, { ...problem.headers });
  });
  app.notFound((c) => {
    const problem = new Problem(
      'unknown',
      `there is no ${c.req.method} ${c.req.path}: /openapi.json says what there is`,
    );
    return c.json(problem.body, problem.status);
  });
  app.use(measured(services));
  app.get('/healthz', (c) => (services.closing.aborted ? c.text('closing\n', 503) : c.text('ok\n')));
  app.get('/metrics', async (c) =>
    c.text(await services.metrics.registry.metrics(), 200, { 'content-type': services.metrics.registry.contentType }),
  );
  app.use('/v1/*', guard(services));
  rooms(app, services);
  stateRoutes(app, services);
  hubRoutes(app, services);
  describe(app);
  page(app);
  return app;
}

/** A heartbeat on every stream; those whose token has been revoked are ended, and those of which that is not known stay. */
async function beat({ streams, tokens, log }: Services, stallMs: number): Promise<void> {
  for (const [stream, token] of streams) {
    const holds = await heldBy(tokens, token).catch((error: unknown) => {
      log(`token ${token.id} cannot be looked up: ${messageOf(error)}`);
      return true;
    });
    if (holds) stream.beat(stallMs);
    else stream.end('revoked');
  }
}

async function heldBy(tokens: TokenSource, token: StoredToken): Promise<boolean> {
  return await tokens.holds(token);
}
