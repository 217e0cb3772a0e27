import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startChild, type OwnedChild } from '../../src/dev/child.ts';

const main = fileURLToPath(new URL('worker.main.ts', import.meta.url));

/** Starts a worker in a process of its own and waits until it polls. It ends with this process. */
export async function startWorkerProcess(address: string, taskQueue?: string): Promise<OwnedChild> {
  const child = await startChild(process.execPath, [
    '--import',
    'tsx',
    main,
    address,
    ...(taskQueue ? [taskQueue] : []),
  ]);
  const ended = child.exited.then(() => Promise.reject(new Error(`${path.basename(main)} ended: ${child.tail()}`)));
  ended.catch(() => {});
  await Promise.race([child.said(/^polling$/), ended]);
  return child;
}
