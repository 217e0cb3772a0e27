import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';

/** How a process ended: an exit code, or the signal that ended it. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A process that this one owns: it never outlives us. */
export interface OwnedChild {
  pid: number;
  /** Resolves, never rejects, when the process has ended. */
  exited: Promise<Exit>;
  /** True until the process has ended. */
  running(): boolean;
  /** The first 10 and the last 50 lines that it wrote to stdout, and behind them those that it wrote to stderr. */
  tail(): string;
  /** Resolves when a line of its output matches; never resolves if none does. */
  said(pattern: RegExp): Promise<void>;
  /** Sends SIGTERM and, after 5 s, SIGKILL; resolves when the process has ended. */
  stop(): Promise<void>;
  /** Sends SIGKILL; resolves when the process has ended. */
  kill(): Promise<void>;
}

const KEPT_LINES = 50;
/** A panic says its reason first, and then more lines than are kept of the end. */
const FIRST_LINES = 10;
const STOP_MS = 5000;

/** What ends each child that still runs when this process ends: one listener for all, for Node warns of a leak after ten. */
const endings = new Set<() => void>();
process.once('exit', () => {
  for (const end of endings) end();
});

/**
 * Starts a process that ends when this one does, however this one ends. It has its own process group: a Ctrl-C in the
 * terminal reaches only us, so that workers can shut down before their server does.
 * @throws Error when the process cannot be started
 */
export async function startChild(command: string, args: readonly string[]): Promise<OwnedChild> {
  const posix = process.platform !== 'win32';
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: posix });
  // Apart, because which of the two is read first is a matter of chance, and a long one must not push the other out.
  const kept = { out: [] as string[], err: [] as string[] };
  const listeners = new Set<(line: string) => void>();
  const keepIn = (lines: string[]) => (line: string) => {
    lines.push(line);
    if (lines.length > FIRST_LINES + KEPT_LINES) lines.splice(FIRST_LINES, 1);
    for (const listener of listeners) listener(line);
  };
  const lines = (): string[] => [...kept.out, ...kept.err];
  eachLine(child.stdout, keepIn(kept.out));
  eachLine(child.stderr, keepIn(kept.err));
  // 'close' comes after 'exit', when all output has been read.
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (error) => reject(new Error(`cannot start ${command}: ${error.message}`)));
  });
  const pid = child.pid;
  if (pid === undefined) throw new Error(`cannot start ${command}: it has no process id`);

  const running = (): boolean => child.exitCode === null && child.signalCode === null;
  const onParentExit = (): void => void child.kill('SIGKILL');
  endings.add(onParentExit);
  const watcher = posix ? watch(pid) : undefined;
  child.once('exit', () => {
    endings.delete(onParentExit);
    // First of all: after this the process id may belong to somebody else.
    watcher?.kill('SIGKILL');
  });

  return {
    pid,
    exited,
    running,
    tail: () => lines().join('\n'),
    said: (pattern) =>
      new Promise((resolve) => {
        if (lines().some((line) => pattern.test(line))) return resolve();
        listeners.add((line) => {
          if (pattern.test(line)) resolve();
        });
      }),
    async stop() {
      if (running()) child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await exited;
      clearTimeout(timer);
    },
    async kill() {
      if (running()) child.kill('SIGKILL');
      await exited;
    },
  };
}

/**
 * A shell that waits for the end of its stdin, which the system closes even when this process is killed by SIGKILL,
 * and then ends `pid`.
 */
function watch(pid: number): ChildProcess {
  const script = `while read -r _; do :; done; kill -KILL ${pid}`;
  const watcher = spawn('/bin/sh', ['-c', script], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  // Without a shell there is still the 'exit' handler.
  watcher.on('error', () => undefined);
  watcher.stdin?.on('error', () => undefined);
  watcher.unref();
  return watcher;
}

function eachLine(stream: NodeJS.ReadableStream, use: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    parts.forEach(use);
  });
  stream.on('end', () => {
    if (rest !== '') use(rest);
  });
}
