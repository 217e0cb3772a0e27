import { Worker, type NativeConnection, type WorkerOptions } from '@temporalio/worker';
import { DEFAULT_TASK_QUEUE } from './envelope/address.ts';
import { SynodPlugin } from './plugin.ts';

/** Workflows kept in memory at once; without a bound the worker's memory grows with the tasks. */
const MAX_CACHED_WORKFLOWS = 1_000;

/** Options of {@link createWorker}; whatever else a Temporal worker takes passes through. */
export type SynodWorkerOptions = Omit<WorkerOptions, 'taskQueue'> & {
  readonly connection: NativeConnection;
  /** Default `synod`. */
  readonly taskQueue?: string;
};

/** A ready worker with all workflows and activities of Synod. Give a {@link SynodPlugin} of your own for its options. */
export async function createWorker(options: SynodWorkerOptions): Promise<Worker> {
  const { plugins = [], taskQueue = DEFAULT_TASK_QUEUE } = options;
  const own = plugins.some((plugin) => plugin instanceof SynodPlugin);
  return await Worker.create({
    maxCachedWorkflows: MAX_CACHED_WORKFLOWS,
    ...options,
    taskQueue,
    plugins: own ? plugins : [...plugins, new SynodPlugin()],
  });
}
