import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { createTimeSkippingEnv } from '../../src/dev/timeSkipping.ts';
import { createWorker, type SynodWorkerOptions } from '../../src/worker.ts';
import { workflowBundle } from './bundle.ts';
import { quietRuntime } from './stack.ts';

/**
 * A server that skips time, and a worker on it, for one test file. It skips only in `env.sleep` and in `result()`; in between
 * its clock goes on as the machine's does, so that nothing may depend on a few seconds. Where an update meets a timer within
 * milliseconds, this server refuses the workflow task and hangs ("invalid history builder state for action"): such edges are in
 * test/e2e/edge.test.ts.
 */
export interface TimeSkipping {
  readonly env: TestWorkflowEnvironment;
  readonly stop: () => Promise<void>;
}

/** @param workflows the workflows that the worker has. Default: those of Synod alone. */
export async function startTimeSkipping(
  workflows = workflowBundle,
  options: Partial<SynodWorkerOptions> = {},
): Promise<TimeSkipping> {
  quietRuntime();
  const [env, bundle] = await Promise.all([createTimeSkippingEnv({ find: { log: () => {} } }), workflows()]);
  const worker = await createWorker({ connection: env.nativeConnection, workflowBundle: bundle, ...options });
  const done = worker.run();
  return {
    env,
    stop: async () => {
      worker.shutdown();
      await done;
      await env.teardown();
    },
  };
}
