import { Command } from 'commander';
import { DEFAULT_TASK_QUEUE } from '../envelope/address.ts';
import { logToStderr } from '../dev/log.ts';
import { startDevServer } from '../dev/server.ts';
import { port } from './values.ts';
import { untilStopped } from './room.ts';
import { quietRuntime, runWorker, workerAt } from './worker.ts';

export function devCommand(): Command {
  return new Command('dev')
    .description('start a Temporal server with its Web UI and a worker, on free ports; Ctrl-C stops all of it')
    .option('--db-filename <file>', 'keep the state in this file over restarts (default: in memory)')
    .option('--port <port>', 'port of the server (default: a free one)', port)
    .option('--ui-port <port>', 'port of the Web UI (default: a free one)', port)
    .option('--no-ui', 'without the Web UI')
    .option('--no-worker', 'without the worker: run your own')
    .option('--default-limits', "leave the server's limit of 10 updates in flight a workflow as it is")
    .option('--task-queue <name>', 'task queue', DEFAULT_TASK_QUEUE)
    .action(dev);
}

interface Options {
  readonly dbFilename?: string;
  readonly port?: number;
  readonly uiPort?: number;
  readonly ui: boolean;
  readonly worker: boolean;
  readonly defaultLimits?: boolean;
  readonly taskQueue: string;
}

async function dev(options: Options): Promise<void> {
  quietRuntime();
  // Once the worker runs, the SDK stops it at a signal, and the server is stopped after that, however often one is sent.
  let works = false;
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    process.on(signal, () => (works ? undefined : process.exit(code)));
  }
  const server = await startDevServer({
    ui: options.ui,
    ...(options.dbFilename === undefined ? {} : { dbFilename: options.dbFilename }),
    ...(options.port === undefined ? {} : { port: options.port }),
    ...(options.uiPort === undefined ? {} : { uiPort: options.uiPort }),
    ...(options.defaultLimits ? { maxInFlightUpdates: null } : {}),
  });
  const ready = () => {
    works = true;
    console.log('ready');
    console.log(`server   TEMPORAL_ADDRESS=${server.address}`);
    if (server.uiUrl !== undefined) console.log(`Web UI   ${server.uiUrl}`);
    console.log('stop     Ctrl-C');
  };
  let stopping = false;
  void server.exited.then(({ code, signal }) => {
    if (stopping) return;
    logToStderr(`the Temporal server has ended (${signal ?? `exit code ${code}`}): start synod dev again`);
    process.exit(1);
  });
  try {
    if (options.worker) await runWorker(await workerAt(server.address, server.namespace, options.taskQueue), ready);
    else {
      ready();
      await untilStopped();
    }
  } finally {
    stopping = true;
    await server.stop();
  }
}
