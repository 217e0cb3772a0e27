import { spawn, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Agent, connect, disconnect, TaskFailure } from '../../src/client/index.ts';
import { startDevServer } from '../../src/dev/server.ts';
import { packTarball, temporaryFolder } from './project.ts';

const PAGE = fileURLToPath(new URL('../../docs/getting-started.md', import.meta.url));
const MINUTES = 60_000;

/** A command line, as a reader types it into a terminal. */
class Terminal {
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];
  readonly #output = new EventEmitter();
  readonly #line: string;

  constructor(line: string, cwd: string, env: NodeJS.ProcessEnv = {}) {
    this.#line = line;
    // In a group of its own, so that closing the terminal reaches whatever the command has started.
    this.#child = spawn('sh', ['-c', line], {
      cwd,
      env: { ...process.env, ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (!stream) throw new Error('no output to read');
      createInterface({ input: stream }).on('line', (said) => {
        this.#lines.push(said);
        this.#output.emit('news');
      });
    }
    this.#child.once('exit', () => this.#output.emit('news'));
  }

  /** Waits for a line that matches. */
  async says(pattern: RegExp): Promise<string> {
    for (;;) {
      const line = this.#lines.find((said) => pattern.test(said));
      if (line !== undefined) return line;
      if (this.#ended)
        throw new Error(`"${this.#line}" ended without saying ${String(pattern)}:\n${this.#lines.join('\n')}`);
      await once(this.#output, 'news');
    }
  }

  /** Waits for its end; fails where the command has. */
  async end(): Promise<void> {
    if (!this.#ended) await once(this.#child, 'exit');
    if (this.#child.exitCode !== 0) throw new Error(`"${this.#line}" failed:\n${this.#lines.join('\n')}`);
  }

  async close(signal: NodeJS.Signals): Promise<void> {
    if (this.#ended || this.#child.pid === undefined) return;
    const gone = once(this.#child, 'exit');
    process.kill(-this.#child.pid, signal);
    await gone;
  }

  get #ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}

describe('docs/getting-started.md', { timeout: 15 * MINUTES }, () => {
  let home: string;
  let folder: string;
  let tarball: string;
  let shell: string[];
  let code: string[];
  const open: Terminal[] = [];

  beforeAll(async () => {
    home = await temporaryFolder();
    tarball = await packTarball(home);
    folder = join(home, 'first-steps');
    const page = await readFile(PAGE, 'utf8');
    shell = [...page.matchAll(/```sh\n(.*?)```/gs)].map(([, text]) => (text ?? '').trim());
    code = [...page.matchAll(/```js\n(.*?)```/gs)].map(([, text]) => text ?? '');
  }, 15 * MINUTES);
  afterAll(async () => {
    await Promise.all(open.map((terminal) => terminal.close('SIGKILL')));
    await rm(home, { recursive: true, force: true });
  });

  function terminal(line: string | undefined, env: NodeJS.ProcessEnv = {}): Terminal {
    const opened = new Terminal(line ?? 'the page has fewer commands', folder, env);
    open.push(opened);
    return opened;
  }

  it('does what it says, word for word', async () => {
    const [project = '', dev, environment = '', work1, soup, roast, work2, watch] = shell;
    // The package is the one that was just packed; all else is as the page has it.
    const lines = project.replace('npm install synod', `npm install --no-audit --no-fund "${tarball}"`);
    await new Terminal(lines.replaceAll('\n', ' && '), home).end();

    const server = terminal(dev);
    await server.says(/^ready$/);
    const [, address = ''] = (await server.says(/TEMPORAL_ADDRESS=/)).split('TEMPORAL_ADDRESS=');
    expect(environment).toBe('export TEMPORAL_ADDRESS=127.0.0.1:PORT');
    const env = { TEMPORAL_ADDRESS: address };

    await writeFile(join(folder, 'worker.mjs'), code[0] ?? '');
    await writeFile(join(folder, 'announce.mjs'), code[1] ?? '');
    const first = terminal(work1, env);
    await first.says(/^worker-1 waits for work$/);

    const small = terminal(soup, env);
    await small.says(/^task\.completed by worker-1, attempt 1$/);
    await small.end();

    terminal(roast, env);
    await first.says(/^worker-1 begins roast/);
    await first.close('SIGKILL');
    const second = terminal(work2, env);
    await second.says(/^worker-2 begins roast \(Roast\), token 2$/);

    const log = terminal(watch, env);
    await log.says(/the lease of worker-1 on roast has run out/);
    await log.says(/worker-2 has roast, token 2/);
    const board = terminal('npx synod board kitchen', env);
    await board.says(/roast\s+held\s+worker-2/);
    await board.end();
    for (const stopped of [log, second, server]) await stopped.close('SIGINT');
  });

  it('shows a service that runs as it stands', async () => {
    const server = await startDevServer({ ui: false, log: () => {} });
    await writeFile(join(folder, 'service.mjs'), code[2] ?? '');
    const service = terminal('node service.mjs', { TEMPORAL_ADDRESS: server.address });
    const client = await connect({ address: server.address });
    const agent = new Agent(client, 'agent-1');
    const stop = new AbortController();
    const fails = () => Promise.reject(new TaskFailure('too hard', { retry: false }));
    const working = agent.work('office', fails, { signal: stop.signal });
    await agent.announce('office', { taskId: 't-1', title: 'Too hard' });
    await service.says(/needs attention/);
    expect(await service.says(/reason/)).toContain('too hard');
    stop.abort();
    await working;
    await service.close('SIGTERM');
    await disconnect(client);
    await server.stop();
  });
});
