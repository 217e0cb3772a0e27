import { fileURLToPath } from 'node:url';
import { Worker, type NativeConnection, type WorkerOptions } from '@temporalio/worker';
import { createActivities } from '../activities/index.ts';
import { DEFAULT_TASK_QUEUE } from './envelope/address.ts';

/** Options of {@link createWorker}; whatever else a Temporal worker takes passes through. */
export type SynodWorkerOptions = Omit<WorkerOptions, 'taskQueue' | 'activities' | 'workflowsPath'> & {
  readonly connection: NativeConnection;
  /** Default `synod`. */
  readonly taskQueue?: string;
  /** Activities of your own, beside Synod's. */
  readonly activities?: object;
};

/** Where the workflows are: among the sources, or beside this file as built. */
function workflowsPath(): string {
  const here = import.meta.url;
  const extension = here.slice(here.lastIndexOf('.'));
  return fileURLToPath(new URL(extension === '.ts' ? '../workflows/index.ts' : `./workflows${extension}`, here));
}

/** A ready worker with all workflows and activities of Synod. */
export async function createWorker(options: SynodWorkerOptions): Promise<Worker> {
  const { bundlerOptions, activities, taskQueue = DEFAULT_TASK_QUEUE, ...rest } = options;
  return await Worker.create({
    maxCachedWorkflows: 1_000,
    ...rest,
    ...(rest.workflowBundle
      ? {}
      : { workflowsPath: workflowsPath(), bundlerOptions: { preloadModules: ['zod'], ...bundlerOptions } }),
    taskQueue,
    activities: { ...createActivities(), ...activities },
  });
}
