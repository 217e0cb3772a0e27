/** A worker in a process of its own: `worker ADDRESS TASK_QUEUE BUNDLE`. Prints "polling" when it runs. */
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { createWorker } from '../../src/worker.ts';

const [address, taskQueue, codePath] = process.argv.slice(2);
if (address === undefined || taskQueue === undefined || codePath === undefined)
  throw new Error('usage: worker ADDRESS TASK_QUEUE BUNDLE');
Runtime.install({ logger: new DefaultLogger('WARN') });
const connection = await NativeConnection.connect({ address });
const worker = await createWorker({ connection, taskQueue, workflowBundle: { codePath } });
const done = worker.run();
console.log('polling');
await done;
await connection.close();
