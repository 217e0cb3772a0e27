import { Connection } from '@temporalio/client';
import { setTimeout as wait } from 'node:timers/promises';
import { startChild } from './child.ts';
import type { Exit, OwnedChild } from './child.ts';
import { RECONNECT } from './connect.ts';
import { ensureExecutable } from './find.ts';
import type { FindOptions } from './find.ts';
import { logToStderr, messageOf } from './log.ts';
import type { Log } from './log.ts';
import { accepts, freePorts } from './ports.ts';

/** Options of {@link startDevServer}. */
export interface DevServerOptions {
  /** SQLite file that keeps the server's state over restarts. Default: in memory. */
  dbFilename?: string | undefined;
  /** Serve Temporal's Web UI. Default: true when `uiPort` is given, else false. */
  ui?: boolean | undefined;
  /** Port of the Web UI. Default: a free one. */
  uiPort?: number | undefined;
  /** gRPC port. Default: a free one. */
  port?: number | undefined;
  /** Namespace that is created and awaited. Default: `default`. */
  namespace?: string | undefined;
  /** Search attributes to register, as name → type (`Keyword`, `Int`, `Text`, …). Default: none. */
  searchAttributes?: Readonly<Record<string, string>> | undefined;
  /** Updates that one workflow may have in flight. Default: 1000; null keeps the server's own limit (10). */
  maxInFlightUpdates?: number | null | undefined;
  /** Address to bind. Default: `127.0.0.1`. */
  ip?: string | undefined;
  /** Time to start in, in milliseconds. Default: 60 000. */
  startTimeoutMs?: number | undefined;
  /** One line for each step. Default: stderr. */
  log?: Log | undefined;
  /** More arguments for `temporal server start-dev`. */
  extraArgs?: readonly string[] | undefined;
  /** How the executable is found, for tests; its log is `log`. */
  find?: Omit<FindOptions, 'log'> | undefined;
}

/** A development server that runs as a child of this process, and ends with it. */
export interface DevServer {
  /** `host:port` for gRPC. */
  address: string;
  /** The Web UI, or undefined when it is off. */
  uiUrl: string | undefined;
  namespace: string;
  pid: number;
  /** Sends SIGTERM and, after 5 s, SIGKILL; resolves when the server has ended. */
  stop(): Promise<void>;
  /** Sends SIGKILL, as a crash would; resolves when the server has ended. */
  kill(): Promise<void>;
  /** Resolves, never rejects, when the server has ended for whatever reason. */
  exited: Promise<Exit>;
}

const ATTEMPTS = 5;
const POLL_MS = 25;
/** A server says its port when it serves. One that never does is taken for ours after so long, in milliseconds. */
const SAYS_PORT_MS = 15_000;
const IN_USE = /address already in use|only one usage of each socket address/i;

class PortTaken extends Error {}

/**
 * Starts `temporal server start-dev` and waits until its namespace can be used. The executable is found or fetched by
 * `ensureExecutable`.
 * @throws Error when no executable is found, when the server ends or does not serve in time (with the end of its
 * output), or when a port that was asked for is in use
 */
export async function startDevServer(options: DevServerOptions = {}): Promise<DevServer> {
  const log = options.log ?? logToStderr;
  const executable = await ensureExecutable('temporal', { ...options.find, log });
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(executable, options);
    } catch (error) {
      if (!(error instanceof PortTaken) || attempt === ATTEMPTS) throw error;
      log(`a port was taken meanwhile, choosing again (${attempt} of ${ATTEMPTS - 1})`);
    }
  }
}

async function startOnce(executable: string, options: DevServerOptions): Promise<DevServer> {
  const { ip = '127.0.0.1', namespace = 'default', startTimeoutMs = 60_000 } = options;
  const ui = options.ui ?? options.uiPort !== undefined;
  const [freePort = 0, freeUiPort = 0] = await freePorts(2, ip);
  const port = options.port ?? freePort;
  const uiPort = options.uiPort ?? freeUiPort;
  const server = await startChild(
    executable,
    serverArgs(options, { ip, namespace, port, uiPort: ui ? uiPort : undefined }),
  );
  try {
    await untilServing(server, { ip, port, uiPort: ui ? uiPort : undefined, namespace }, startTimeoutMs);
  } catch (error) {
    await server.kill();
    throw startFailure(messageOf(error), server.tail(), [options.port, options.uiPort]);
  }
  return {
    address: `${ip}:${port}`,
    uiUrl: ui ? `http://${ip}:${uiPort}` : undefined,
    namespace,
    pid: server.pid,
    stop: () => server.stop(),
    kill: () => server.kill(),
    exited: server.exited,
  };
}

function serverArgs(
  options: DevServerOptions,
  chosen: { ip: string; namespace: string; port: number; uiPort: number | undefined },
): string[] {
  // The server's other ports (HTTP API, metrics, its own services) are free ones that it chooses itself.
  const args = [
    'server',
    'start-dev',
    '--ip',
    chosen.ip,
    '--port',
    String(chosen.port),
    '--namespace',
    chosen.namespace,
  ];
  args.push('--log-level', 'warn');
  args.push(...(chosen.uiPort === undefined ? ['--headless'] : ['--ui-port', String(chosen.uiPort)]));
  if (options.dbFilename !== undefined) args.push('--db-filename', options.dbFilename);
  for (const [name, type] of Object.entries(options.searchAttributes ?? {})) {
    args.push('--search-attribute', `${name}=${type}`);
  }
  const limit = options.maxInFlightUpdates === undefined ? 1000 : options.maxInFlightUpdates;
  if (limit !== null) args.push('--dynamic-config-value', `history.maxInFlightUpdates=${limit}`);
  return [...args, ...(options.extraArgs ?? [])];
}

interface Place {
  readonly ip: string;
  readonly port: number;
  readonly uiPort: number | undefined;
  readonly namespace: string;
}

async function untilServing(server: OwnedChild, place: Place, timeoutMs: number): Promise<void> {
  const give = new AbortController();
  const ended = server.exited.then(({ code, signal }) => {
    throw new Error(`it ended at once (${signal ?? `exit code ${code}`})`);
  });
  const late = wait(timeoutMs, undefined, { signal: give.signal }).then(() => {
    throw new Error(`it does not serve after ${timeoutMs / 1000} s`);
  });
  try {
    await Promise.race([ended, late, serves(place, server, give.signal)]);
  } finally {
    give.abort();
    late.catch(() => undefined);
    ended.catch(() => undefined);
  }
}

async function serves({ ip, port, uiPort, namespace }: Place, server: OwnedChild, signal: AbortSignal): Promise<void> {
  // gRPC backs off for seconds after a refused connection, so a plain socket finds out first when to connect.
  for (const each of uiPort === undefined ? [port] : [port, uiPort])
    while (!(await accepts(ip, each))) await wait(POLL_MS, undefined, { signal });
  const connection = Connection.lazy({ address: `${ip}:${port}`, channelArgs: RECONNECT });
  try {
    for (;;) {
      try {
        await connection.withDeadline(Date.now() + 2000, () =>
          connection.workflowService.describeNamespace({ namespace }),
        );
        break;
      } catch {
        await wait(POLL_MS, undefined, { signal });
      }
    }
  } finally {
    await connection.close();
  }
  // What answered may be another server that took the port: ours then ends, on a busy machine later, and never reports its port.
  const said = server.said(new RegExp(`Server:\\s+\\S+:${port}\\b`));
  await Promise.race([said, wait(SAYS_PORT_MS, undefined, { signal })]);
}

function startFailure(reason: string, output: string, asked: readonly (number | undefined)[]): Error {
  const shown = output === '' ? 'It wrote nothing.' : `The end of its output:\n${output}`;
  const lines = output.split('\n').filter((line) => IN_USE.test(line));
  if (lines.length === 0) return new Error(`The Temporal server did not start: ${reason}. ${shown}`);
  // Of the ports that it chose itself one may be taken as well, and others are chosen the next time.
  const port = asked.find((number) => number !== undefined && lines.some((line) => line.includes(`:${number}:`)));
  if (port === undefined) return new PortTaken(`The Temporal server did not start: a port was taken. ${shown}`);
  return new Error(
    `The Temporal server did not start: port ${port} is in use. Stop what uses it, or choose another port. ${shown}`,
  );
}
