import { fileURLToPath } from 'node:url';
import { startChild } from '../../src/dev/child.ts';
import { resolveServer } from '../../src/dev/connect.ts';
import { startDevServer } from '../../src/dev/server.ts';

/** The server and the worker that the demo runs on. */
export interface Services {
  /** For processes that connect: names the server. */
  readonly env: NodeJS.ProcessEnv;
  readonly uiUrl: string | undefined;
  /** The end of the worker's output. */
  tail(): string;
  stop(): Promise<void>;
}

/**
 * The server of the environment, or an embedded one; and a worker in a process of its own.
 * @param folder where the report is that the worker rolls back for lost lock holders.
 * @param onEnded called when the worker ends by itself.
 */
export async function startServices(folder: string, onEnded: (error: Error) => void): Promise<Services> {
  const named = resolveServer();
  const server = named ? undefined : await startDevServer({ ui: true });
  const main = fileURLToPath(new URL('./worker.ts', import.meta.url));
  const where = server ? [server.address, server.namespace] : [];
  const worker = await startChild(process.execPath, [...process.execArgv, main, folder, ...where]);
  let stopping = false;
  const stop = async () => {
    stopping = true;
    await worker.stop();
    await server?.stop();
  };
  const ended = worker.exited.then(() => {
    const error = new Error(`the worker has ended; the end of its output:\n${worker.tail()}`);
    if (!stopping) onEnded(error);
    throw error;
  });
  ended.catch(() => undefined);
  try {
    await Promise.race([worker.said(/^ready$/), ended]);
  } catch (error) {
    await stop();
    throw error;
  }
  const env = {
    ...process.env,
    TEMPORAL_ADDRESS: named?.address ?? server?.address,
    TEMPORAL_NAMESPACE: named?.namespace ?? server?.namespace,
  };
  return { env, uiUrl: server?.uiUrl, stop, tail: () => worker.tail() };
}
