import { spawn } from 'node:child_process';
import { messageOf } from './log.ts';

/** How a command ended. `failure` is a short reason in words, or undefined when it exited with 0. */
export interface CommandResult {
  stdout: string;
  stderr: string;
  failure: string | undefined;
  /** No such command exists on this machine. */
  missing: boolean;
  /** It was ended because `timeoutMs` had passed. */
  timedOut: boolean;
}

/**
 * Runs a command to its end and never throws: what went wrong is in `failure`.
 * @param options.timeoutMs time limit in milliseconds; the command is then killed
 * @param options.env the command's whole environment; its PATH finds the command
 */
export function runCommand(
  command: string,
  args: readonly string[],
  options: { timeoutMs: number; env: NodeJS.ProcessEnv },
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    let timedOut = false;
    let settled = false;
    const child = spawn(command, args, { env: options.env, stdio: ['ignore', 'pipe', 'pipe'] });
    // A parent that exits half-way must not leave the command running.
    const onParentExit = (): void => void child.kill('SIGKILL');
    process.once('exit', onParentExit);
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill('SIGKILL');
      finish(`no answer within ${Math.round(options.timeoutMs / 100) / 10} s`);
    }, options.timeoutMs);
    const finish = (failure: string | undefined, missing = false): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      process.off('exit', onParentExit);
      // A grandchild may still hold the pipes; they are of no interest any more.
      child.stdout.destroy();
      child.stderr.destroy();
      const text = (chunks: Buffer[]): string => Buffer.concat(chunks).toString('utf8');
      resolve({ stdout: text(out), stderr: text(err), failure, missing, timedOut });
    };
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') finish('not installed', true);
      else finish(messageOf(error));
    });
    child.on('close', (code, signal) => {
      if (code === 0) finish(undefined);
      // 127 is a shim (pyenv, asdf) without the tool behind it.
      else if (code === 127) finish('not installed behind its shim', true);
      else finish(signal === null ? `exit code ${code}` : `ended by ${signal}`);
    });
  });
}

/** The last line with text in it, cut to 200 characters: the part of a tool's output that names the problem. */
export function lastLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  return (lines.findLast((line) => line !== '') ?? '').slice(0, 200);
}
