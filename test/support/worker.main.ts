// A worker in a process of its own, to be killed: `tsx worker.main.ts ADDRESS [TASK_QUEUE]`. Says "polling" when it runs.
import { NativeConnection } from '@temporalio/worker';
import { createWorker } from '../../src/worker.ts';
import { workflowBundle } from './bundle.ts';
import { quietRuntime } from './stack.ts';

const [address, taskQueue = 'synod'] = process.argv.slice(2);
if (address === undefined) throw new Error('usage: worker.main.ts ADDRESS [TASK_QUEUE]');
quietRuntime();
const connection = await NativeConnection.connect({ address });
const worker = await createWorker({
  connection,
  taskQueue,
  workflowBundle: await workflowBundle(),
  // What a dead worker left is given away after this, not after the default of 10 s.
  stickyQueueScheduleToStartTimeout: '1s',
});
const done = worker.run();
console.log('polling');
await done;
await connection.close();
