import { spawn } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the repository. */
export const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

/** How a command ended; `code` is 128 + n when signal n ended it, 127 when it could not be started. */
export interface RunResult {
  code: number;
  /** stdout and stderr together, when they were captured. */
  output: string;
}

const SIGNALS: Partial<Record<NodeJS.Signals, number>> = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 };

/**
 * Runs a command at the root of the repository; the executables of the dependencies are on PATH (see bootstrap.mjs).
 * SIGTERM is passed on to it.
 * @param options.capture keep its output instead of showing it (default false)
 * @param options.signal when it aborts, the command gets SIGTERM
 */
export function run(
  command: string,
  args: readonly string[],
  options: { capture?: boolean; signal?: AbortSignal } = {},
): Promise<RunResult> {
  const capture = options.capture ?? false;
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: root,
      stdio: capture ? ['ignore', 'pipe', 'pipe'] : 'inherit',
      shell: process.platform === 'win32',
    });
    const chunks: Buffer[] = [];
    child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk));
    const forward = (): void => void child.kill('SIGTERM');
    process.on('SIGTERM', forward);
    options.signal?.addEventListener('abort', forward);
    const end = (code: number, more = ''): void => {
      process.off('SIGTERM', forward);
      options.signal?.removeEventListener('abort', forward);
      resolve({ code, output: Buffer.concat(chunks).toString('utf8') + more });
    };
    child.once('error', (error) => end(127, `cannot run ${command}: ${error.message}\n`));
    child.once('close', (code, signal) => end(code ?? 128 + (signal === null ? 0 : (SIGNALS[signal] ?? 0))));
  });
}

/** Milliseconds as seconds with one decimal, such as `3.2 s`. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
