import { spawn, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Agent, connect, disconnect } from '../../src/client/index.ts';
import { freePorts } from '../../src/dev/ports.ts';
import { startDevServer, type DevServer } from '../../src/dev/server.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

/** Whatever a failed test leaves ends with this process. */
const children = new Set<ChildProcess>();
process.once('exit', () => children.forEach((child) => child.kill('SIGKILL')));

/** The command line as a process, with its output. */
class Synod {
  readonly child: ChildProcess;
  stderr = '';
  readonly #lines: string[] = [];
  readonly #output = new EventEmitter();
  /** It has ended, and all of its output has been read. */
  readonly #closed: Promise<unknown>;
  #over = false;

  constructor(args: readonly string[], env: NodeJS.ProcessEnv) {
    this.child = spawn(process.execPath, ['--import', 'tsx', MAIN, ...args], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.#closed = once(this.child, 'close').then(() => {
      this.#over = true;
      this.#output.emit('news');
    });
    children.add(this.child);
    if (!this.child.stdout) throw new Error('no output to read');
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      this.#lines.push(line);
      this.#output.emit('news');
    });
  }

  /** Waits until it has printed a line that matches. */
  async says(pattern: RegExp): Promise<string> {
    for (;;) {
      const line = this.#lines.find((said) => pattern.test(said));
      if (line !== undefined) return line;
      if (this.#over) throw new Error(`it ended without printing ${String(pattern)}: ${this.stderr}`);
      await once(this.#output, 'news');
    }
  }

  async stop(signal: NodeJS.Signals): Promise<number | null> {
    this.child.kill(signal);
    return await this.exit();
  }

  async exit(): Promise<number | null> {
    await this.#closed;
    return this.child.exitCode;
  }
}

/** The process id of the development server that serves on a port. */
async function serverAt(port: string): Promise<number> {
  for (const id of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const args = (await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')).split('\0');
    if (args.includes('start-dev') && args[args.indexOf('--port') + 1] === port) return Number(id);
  }
  throw new Error(`no server at port ${port}`);
}

describe('the command line', () => {
  let server: DevServer;
  let env: NodeJS.ProcessEnv;

  beforeAll(async () => {
    server = await startDevServer({ ui: false, log: () => {} });
    env = { TEMPORAL_ADDRESS: server.address };
  });
  afterAll(async () => {
    await server.stop();
  });

  it('runs a worker that prints when it is ready, serves, and stops cleanly on SIGTERM', async () => {
    const worker = new Synod(['worker'], env);
    await worker.says(/^ready$/);
    const client = await connect({ address: server.address });
    await new Agent(client, 'agent-1').post('cli', 'is anybody there?');

    const watch = new Synod(['watch', 'cli'], env);
    await watch.says(/agent-1: is anybody there\?/);
    expect(await watch.stop('SIGINT')).toBe(0);

    const json = new Synod(['watch', 'cli', '--json'], env);
    expect(JSON.parse(await json.says(/room\.post/))).toMatchObject({
      seq: 1,
      envelope: { text: 'is anybody there?' },
    });
    await json.stop('SIGTERM');

    const late = new Synod(['watch', 'cli', '--after', '-1'], env);
    const agent = new Agent(client, 'agent-1');
    // It does not print when it listens; at the end no post is still under way.
    let received = false;
    const posting = (async () => {
      for (; !received; await pause(200)) await agent.post('cli', 'and now?');
    })();
    await late.says(/agent-1: and now\?/);
    received = true;
    await posting;
    await late.stop('SIGTERM');
    expect(late.stderr).toBe('');

    const announced = await new Agent(client, 'agent-1').announce('cli', { taskId: 't-1', title: 'Look around' });
    expect(announced.replies[0]).toMatchObject({ type: 'task.accepted' });
    await expect.poll(async () => (await new Agent(client, 'agent-1').board('cli')).length).toBe(1);
    const board = new Synod(['board', 'cli', '--json'], env);
    expect(JSON.parse(await board.says(/t-1/))).toMatchObject({ id: 't-1', status: 'open' });
    expect(await board.exit()).toBe(0);

    expect(await worker.stop('SIGTERM')).toBe(0);
    await client.connection.close();
  });

  it('prints what to do where no server answers', async () => {
    const nowhere = `127.0.0.1:${(await freePorts(1, '127.0.0.1'))[0]}`;
    const worker = new Synod(['worker'], { TEMPORAL_ADDRESS: nowhere });
    expect(await worker.exit()).toBe(1);
    expect(worker.stderr).toContain(
      `no Temporal server answers at ${nowhere}: start one (synod dev), or set TEMPORAL_ADDRESS`,
    );
  });

  it('prints what to do where the namespace is missing', async () => {
    const worker = new Synod(['worker'], { ...env, TEMPORAL_NAMESPACE: 'nowhere' });
    expect(await worker.exit()).toBe(1);
    expect(worker.stderr).toContain('has no namespace nowhere: create it, or set TEMPORAL_NAMESPACE');
  });

  it('refuses bad arguments and names them', async () => {
    const bad = new Synod(['watch', 'cli', '--after', 'soon'], env);
    expect(await bad.exit()).not.toBe(0);
    expect(bad.stderr).toContain('--after');
    expect(bad.stderr).toContain('--help');
    for (const [args, named] of [
      [['watch', 'bad room'], 'room must be 1 to 64'],
      [['gateway', 'token', 'add', '--agent', 'a b', '--room', 'lab'], 'agent must be 1 to 128'],
      [['gateway', 'token', 'add', '--agent', 'a', '--room', 'a b'], 'room must be 1 to 64'],
    ] as const) {
      const refused = new Synod(args, env);
      expect(await refused.exit()).toBe(1);
      expect(refused.stderr).toContain(named);
    }
  });

  it('leaves the worker to others with --no-worker', async () => {
    const dev = new Synod(['dev', '--no-ui', '--no-worker'], {});
    const address = (await dev.says(/^server {3}TEMPORAL_ADDRESS=/)).split('=')[1] ?? '';
    const client = await connect({ address });
    const warnings: string[] = [];
    const warned = (warning: Error) => void warnings.push(String(warning));
    process.on('warning', warned);
    const post = new Agent(client, 'agent-1').post('dev', 'is a worker there?');
    const asked = 'no answer from synod:dev:room for 10 s: does a worker poll the task queue';
    await expect.poll(() => warnings.join('\n')).toContain(asked);
    process.off('warning', warned);
    const [refused] = await Promise.allSettled([post, disconnect(client)]);
    expect(String(refused.status === 'rejected' && refused.reason)).toContain('disconnected before synod:dev:room');
    expect(await dev.stop('SIGINT')).toBe(0);
  });

  it.skipIf(process.platform !== 'linux')('ends with an error when its server has ended', async () => {
    const dev = new Synod(['dev', '--no-ui'], {});
    const port = (await dev.says(/^server {3}TEMPORAL_ADDRESS=/)).split(':')[1] ?? '';
    await dev.says(/^stop/);
    process.kill(await serverAt(port), 'SIGKILL');
    expect(await dev.exit()).toBe(1);
    expect(dev.stderr).toContain('synod: the Temporal server has ended (SIGKILL): start synod dev again');
  });

  it('brings up server, Web UI and worker together, and takes them down together', async () => {
    const dev = new Synod(['dev'], {});
    const address = (await dev.says(/^server {3}TEMPORAL_ADDRESS=/)).split('=')[1] ?? '';
    const ui = (await dev.says(/^Web UI/)).split(/\s+/)[2] ?? '';
    expect((await fetch(ui)).status).toBe(200);
    const client = await connect({ address });
    await new Agent(client, 'agent-1').post('dev', 'hello');
    await client.connection.close();
    expect(await dev.stop('SIGINT')).toBe(0);
    await expect(connect({ address })).rejects.toThrow('no Temporal server answers');
    await expect(fetch(ui)).rejects.toThrow('fetch failed');
  });
});
