import { isGrpcServiceError } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, type Worker } from '@temporalio/worker';
import { Command } from 'commander';
import { DEFAULT_TASK_QUEUE } from '../envelope/address.ts';
import { resolveServer } from '../dev/connect.ts';
import { messageOf } from '../dev/log.ts';
import type { SynodPlugin } from '../plugin.ts';
import { createWorker } from '../worker.ts';

const DEFAULT_ADDRESS = '127.0.0.1:7233';
/** gRPC's code. */
const NOT_FOUND = 5;

/** Warnings only: the SDK's other messages need `--verbose`. */
export function quietRuntime(level: 'INFO' | 'WARN' = 'WARN'): void {
  Runtime.install({ logger: new DefaultLogger(level) });
}

/** A worker at the server that the environment names. */
export async function workerAt(
  address: string | undefined,
  namespace: string | undefined,
  taskQueue: string,
  plugin?: SynodPlugin,
): Promise<Worker> {
  const named = address === undefined ? resolveServer() : undefined;
  const at = address ?? named?.address ?? DEFAULT_ADDRESS;
  const connection = await NativeConnection.connect({ ...named?.connectionOptions, address: at }).catch(
    (error: unknown) => {
      throw new Error(`no Temporal server answers at ${at}: start one (synod dev), or set TEMPORAL_ADDRESS`, {
        cause: error,
      });
    },
  );
  const chosen = namespace ?? named?.namespace ?? process.env['TEMPORAL_NAMESPACE'] ?? 'default';
  await connection.workflowService.describeNamespace({ namespace: chosen }).catch((cause: unknown) => {
    throw namespaceProblem(at, chosen, cause);
  });
  return await createWorker({ connection, namespace: chosen, taskQueue, plugins: plugin ? [plugin] : [] });
}

/** What to say where a namespace was asked for in vain: only NOT_FOUND means that there is none. */
export function namespaceProblem(address: string, namespace: string, cause: unknown): Error {
  const missing = isGrpcServiceError(cause) && cause.code === NOT_FOUND;
  return new Error(
    missing
      ? `the server at ${address} has no namespace ${namespace}: create it, or set TEMPORAL_NAMESPACE`
      : `the server at ${address} was asked for its namespace ${namespace} and failed: ${messageOf(cause)}`,
    { cause },
  );
}

/** Runs a worker until a signal stops it; says when it polls. */
export async function runWorker(worker: Worker, onReady: () => void): Promise<void> {
  const running = worker.run();
  onReady();
  await running;
}

export function workerCommand(): Command {
  return new Command('worker')
    .description(
      'run a worker with all workflows and activities; prints "ready" when it polls, stops cleanly on SIGTERM',
    )
    .option('--task-queue <name>', 'task queue', DEFAULT_TASK_QUEUE)
    .option('--address <host:port>', 'Temporal server (default: TEMPORAL_ADDRESS, or 127.0.0.1:7233)')
    .option('--namespace <name>', 'namespace (default: TEMPORAL_NAMESPACE, or default)')
    .option('--verbose', 'what the Temporal SDK logs, too')
    .action(async (options: { taskQueue: string; address?: string; namespace?: string; verbose?: boolean }) => {
      quietRuntime(options.verbose ? 'INFO' : 'WARN');
      console.error('synod: bundling the workflows');
      await runWorker(await workerAt(options.address, options.namespace, options.taskQueue), () =>
        console.log('ready'),
      );
      console.error('synod: stopped');
    });
}
