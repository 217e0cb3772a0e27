import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Client } from '@temporalio/client';
import { createGateway, type GatewayOptions } from './app.ts';

/** Time for answers that are under way, in milliseconds, before their connections are cut. */
const GRACE_MS = 5_000;
const SWEEP_MS = 50;

/** Options of {@link serveGateway}. */
export interface ServeOptions extends GatewayOptions {
  /** Default 127.0.0.1: nothing beyond this machine. */
  readonly host?: string;
  /** Default: a free one. */
  readonly port?: number;
}

/** A gateway that listens. */
export interface RunningGateway {
  /** E.g. `http://127.0.0.1:8787`. */
  readonly url: string;
  /** Ends streams and waits, lets answers that are under way go out, and stops listening. */
  close(): Promise<void>;
}

/** @throws Error saying what to do where the port is taken. */
export async function serveGateway(client: Client, options: ServeOptions): Promise<RunningGateway> {
  const { host = '127.0.0.1', port = 0 } = options;
  const gateway = createGateway(client, options);
  const listener = getRequestListener((request, env) => gateway.fetch(request, env), { overrideGlobalObjects: false });
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    gateway.close();
    throw portProblem(error, host, port);
  }
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${portOf(server)}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      gateway.close();
      // What has had its answer would be kept alive for the next request.
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
      const cut = setTimeout(() => server.closeAllConnections(), GRACE_MS);
      await closed;
      clearInterval(sweep);
      clearTimeout(cut);
    },
  };
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the gateway has no port');
  return address.port;
}

function portProblem(error: unknown, host: string, port: number): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  if (error.code === 'EADDRINUSE')
    return new Error(`port ${port} of ${host} is taken: choose another with --port`, { cause: error });
  if (error.code === 'EACCES' || error.code === 'EADDRNOTAVAIL')
    return new Error(`cannot listen on ${host} port ${port}: choose others with --host and --port`, { cause: error });
  return error;
}
