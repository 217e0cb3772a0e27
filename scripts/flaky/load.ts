import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';

/** A busy process lives no longer than this, whatever becomes of its parent. */
const LONGEST_MS = 12 * 60 * 60 * 1_000;

/** Computes until its parent, whose id it is given, is gone. It looks after every 50 ms of work. */
const BUSY = `const parent = Number(process.argv[1]), end = Date.now() + ${LONGEST_MS};
while (process.ppid === parent && Date.now() < end) for (const until = Date.now() + 50; Date.now() < until; );`;

/**
 * Keeps the machine busy with one process per core.
 * @param count how many processes (default: one per core)
 * @returns ends them and waits until they have ended; they also end with this process, however it ends
 */
export function startLoad(count: number = availableParallelism()): { pids: number[]; stop: () => Promise<void> } {
  const children = Array.from({ length: count }, () =>
    spawn(process.execPath, ['-e', BUSY, String(process.pid)], { stdio: 'ignore' }),
  );
  const ended = children.map((child) => once(child, 'exit'));
  const kill = (): void => children.forEach((child) => child.kill('SIGKILL'));
  process.once('exit', kill);
  return {
    pids: children.flatMap(({ pid }) => (pid === undefined ? [] : [pid])),
    stop: async () => {
      process.off('exit', kill);
      kill();
      await Promise.all(ended);
    },
  };
}
