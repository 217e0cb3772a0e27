/** The worker of the second act: all of Synod, and the rollback for a lost holder of the lock. */
import { z } from 'zod';
import { quietRuntime, runWorker, workerAt } from '../../src/cli/worker.ts';
import { DEFAULT_TASK_QUEUE } from '../../src/envelope/address.ts';
import { SynodPlugin } from '../../src/index.ts';
import { GuardedReport, REPORT } from './guarded.ts';

const lost = z.object({ tokens: z.object({ [REPORT]: z.number() }) });

const [folder = '.', address, namespace] = process.argv.slice(2);
const plugin = new SynodPlugin({
  onLockExpired: async ({ input }) => {
    const lock = lost.safeParse(input);
    if (lock.success) new GuardedReport(folder).rollBack(lock.data.tokens[REPORT]);
  },
});
quietRuntime();
await runWorker(await workerAt(address, namespace, DEFAULT_TASK_QUEUE, plugin), () => console.log('ready'));
