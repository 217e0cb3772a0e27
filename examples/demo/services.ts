import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createInterface } from 'node:readline';
import { resolveServer } from '../../src/dev/connect.ts';
import { startDevServer } from '../../src/dev/server.ts';

/** The server and the worker that the demo runs on. */
export interface Services {
  /** For processes that connect: names the server. */
  readonly env: NodeJS.ProcessEnv;
  stop(): Promise<void>;
}

/** The server of the environment, or an embedded one; and a worker in a process of its own. */
export async function startServices(signal: AbortSignal): Promise<Services> {
  const named = resolveServer();
  const server = named ? undefined : await startDevServer();
  const env = {
    ...process.env,
    TEMPORAL_ADDRESS: named?.address ?? server?.address,
    TEMPORAL_NAMESPACE: named?.namespace ?? server?.namespace,
  };
  if (server?.uiUrl !== undefined) console.error(`demo: the Web UI is at ${server.uiUrl}`);
  const worker = fork(fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url)), ['worker'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    // The terminal's Ctrl-C is for the demo, which then stops the worker.
    detached: true,
  });
  const exited = once(worker, 'exit');
  const stop = async () => {
    if (worker.exitCode === null && worker.signalCode === null) {
      worker.kill('SIGTERM');
      const late = setTimeout(() => worker.kill('SIGKILL'), 10_000);
      await exited;
      clearTimeout(late);
    }
    await server?.stop();
  };
  try {
    await ready(worker.stdout, exited, signal);
  } catch (error) {
    await stop();
    throw error;
  }
  return { env, stop };
}

async function ready(
  stdout: NodeJS.ReadableStream | null,
  exited: Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  if (!stdout) throw new Error('the worker has no output');
  const lines = createInterface({ input: stdout });
  const said = (async () => {
    for await (const line of lines) if (line === 'ready') return;
    throw new Error('the worker ended before it was ready; what it said is above');
  })();
  const stopped = new Promise<never>((_, reject) =>
    signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true }),
  );
  await Promise.race([said, exited.then(() => said), stopped]);
}
