import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, type Worker } from '@temporalio/worker';
import { RECONNECT } from '../../src/dev/connect.ts';
import { startDevServer, type DevServer, type DevServerOptions } from '../../src/dev/server.ts';
import { createWorker, type SynodWorkerOptions } from '../../src/worker.ts';
import { workflowBundle } from './bundle.ts';

/** A server, a worker and a client, for one test file. */
export interface Stack {
  readonly server: DevServer;
  readonly client: Client;
  readonly native: NativeConnection;
  /** Another client with a connection of its own, as another process would have. */
  connect(): Promise<Client>;
  /** Another worker that runs until it is stopped. */
  work(options?: Partial<SynodWorkerOptions>): Promise<RunningWorker>;
  stop(): Promise<void>;
}

export interface RunningWorker {
  stop(): Promise<void>;
}

let quiet = false;

/** Keeps the SDK's own log to errors; once a process. */
export function quietRuntime(): void {
  if (quiet) return;
  quiet = true;
  Runtime.install({ logger: new DefaultLogger('ERROR') });
}

export interface StackOptions {
  readonly server?: DevServerOptions;
  /** Options of the worker; null for none. */
  readonly worker?: Partial<SynodWorkerOptions> | null;
}

/** Starts a development server and a worker of Synod; `stop` ends whatever was opened through it. */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  quietRuntime();
  const [server, bundle] = await Promise.all([startDevServer({ log: () => {}, ...options.server }), workflowBundle()]);
  const { address } = server;
  const native = await NativeConnection.connect({ address });
  const connections: Connection[] = [];
  const workers: RunningWorker[] = [];
  const connect = async (): Promise<Client> => {
    const connection = await Connection.connect({ address, channelArgs: RECONNECT });
    connections.push(connection);
    return new Client({ connection });
  };
  const work = async (extra: Partial<SynodWorkerOptions> = {}): Promise<RunningWorker> => {
    const running = runWorker(await createWorker({ connection: native, workflowBundle: bundle, ...extra }));
    workers.push(running);
    return running;
  };
  const client = await connect();
  if (options.worker !== null) await work(options.worker);
  return {
    server,
    client,
    native,
    connect,
    work,
    async stop() {
      await Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all(connections.map((connection) => connection.close()));
      await native.close();
      await server.stop();
    },
  };
}

function runWorker(worker: Worker): RunningWorker {
  const done = worker.run();
  // Seen where it is stopped, not as an unhandled rejection before that.
  done.catch(() => {});
  let stopping = false;
  return {
    async stop() {
      if (!stopping && worker.getState() === 'RUNNING') worker.shutdown();
      stopping = true;
      await done;
    },
  };
}
