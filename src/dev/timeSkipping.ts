import { TestWorkflowEnvironment } from '@temporalio/testing';
import type { TimeSkippingTestWorkflowEnvironmentOptions } from '@temporalio/testing';
import { ensureExecutable } from './find.ts';
import type { FindOptions } from './find.ts';

/** Options of {@link createTimeSkippingEnv}: those of the SDK without the executable, and how that is found. */
export interface TimeSkippingOptions extends Omit<TimeSkippingTestWorkflowEnvironmentOptions, 'server'> {
  find?: FindOptions | undefined;
}

/**
 * A test environment on the time-skipping test server, whose executable is found or fetched by `ensureExecutable`.
 * End it with `teardown()`.
 * @throws Error when no executable is found, naming every place that was tried
 */
export async function createTimeSkippingEnv(options: TimeSkippingOptions = {}): Promise<TestWorkflowEnvironment> {
  const { find, ...rest } = options;
  const path = await ensureExecutable('temporal-test-server', find);
  return await TestWorkflowEnvironment.createTimeSkipping({
    ...rest,
    server: { executable: { type: 'existing-path', path } },
  });
}
