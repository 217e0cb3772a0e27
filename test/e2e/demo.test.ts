import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

const root = fileURLToPath(new URL('../..', import.meta.url));
const summary = z.strictObject({
  tasks: z.number(),
  completed: z.number(),
  duplicate_results: z.number(),
  reassigned: z.number(),
  refused_stale: z.number(),
  epochs: z.number(),
  stale_directives_refused: z.number(),
  rolled_back: z.number(),
  barrier_dropped: z.array(z.string()),
  decision: z.string(),
  seconds: z.number(),
  act1: z
    .strictObject({
      tasks: z.number(),
      completed: z.number(),
      duplicate_results: z.number(),
      lost: z.number(),
      torn: z.number(),
      paid_calls: z.number(),
      wasted_calls: z.number(),
      seconds: z.number(),
    })
    .optional(),
});
/** Everything that a copy of the repository needs to run the demo. */
const SOURCES = ['package.json', 'tsconfig.json', 'src', 'workflows', 'activities', 'examples'];
const BIG = 5 * 1024 * 1024;

/** Everything here is made below it, the demo's own temporary files too. */
let scratch: string;
let input: string;
const running = new Set<Demo>();

beforeAll(async () => {
  scratch = await mkdtemp(path.join(tmpdir(), 'synod-demo-test-'));
  input = path.join(scratch, 'input');
  await makeInput(input);
});
afterEach(() => {
  for (const demo of running) demo.kill();
  running.clear();
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

/** Texts that are not the project's, with names that are hard to handle. */
async function makeInput(folder: string): Promise<void> {
  await mkdir(path.join(folder, 'notes of a journey'), { recursive: true });
  const verse = [
    'Über allen Gipfeln ist Ruh',
    'в чаще юга жил бы цитрус',
    '山路を登りながら、こう考えた。',
    'The quick brown fox',
  ];
  const text = (lines: number) => Array.from({ length: lines }, (_, i) => `${i} ${verse[i % verse.length]}`).join('\n');
  for (let i = 1; i <= 8; i++) await writeFile(path.join(folder, 'notes of a journey', `day ${i}.md`), text(20 * i));
  await writeFile(path.join(folder, 'größe und maß.txt'), text(3));
  // The same letters composed and decomposed: two files on most systems, one name to whoever normalises.
  await writeFile(path.join(folder, 'caf\u00e9.txt'), text(5));
  await writeFile(path.join(folder, 'cafe\u0301.txt'), text(7));
  await writeFile(path.join(folder, '東京 日記.txt'), text(11));
  await writeFile(path.join(folder, 'nothing at all.txt'), '');
  await writeFile(
    path.join(folder, 'long.txt'),
    `${text(50)}\n`.repeat(Math.ceil(BIG / Buffer.byteLength(`${text(50)}\n`))),
  );
  await writeFile(path.join(folder, 'picture.png'), Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0, 0, 13]));
}
const TEXTS = 14;

/** The demo as a user starts it. */
class Demo {
  readonly child: ChildProcess;
  /** Where it puts temporary files. */
  readonly temporary: string;
  stdout = '';
  stderr = '';
  readonly ended: Promise<number | null>;

  constructor(folder: string, temporary: string, options: readonly string[]) {
    this.temporary = temporary;
    // No server of the environment, and nothing of the test runner's.
    const { TEMPORAL_ADDRESS: _address, NODE_OPTIONS: _options, ...env } = process.env;
    const args = ['--import', 'tsx', 'examples/demo/main.ts', '--input', input, '--time-limit', '900', ...options];
    // A group of its own, so that Ctrl-C can be sent to all of it, as a terminal does.
    this.child = spawn(process.execPath, args, { cwd: folder, env: { ...env, TMPDIR: temporary }, detached: true });
    this.child.stdout?.setEncoding('utf8').on('data', (data: string) => (this.stdout += data));
    this.child.stderr?.setEncoding('utf8').on('data', (data: string) => (this.stderr += data));
    this.ended = once(this.child, 'close').then(() => this.child.exitCode);
    running.add(this);
  }

  /** Only the second act, unless asked for more. */
  static async start(folder = root, options: readonly string[] = ['--act', '2']): Promise<Demo> {
    const temporary = await mkdtemp(path.join(scratch, 'tmp-'));
    return new Demo(folder, temporary, options);
  }

  kill(): void {
    if (this.child.pid !== undefined && this.child.exitCode === null && this.child.signalCode === null)
      process.kill(-this.child.pid, 'SIGKILL');
  }

  /** What its last line says. */
  get summary(): z.infer<typeof summary> {
    return summary.parse(JSON.parse(this.stdout.trimEnd().split('\n').at(-1) ?? ''));
  }

  /** Waits for its end; where its exit code is not as expected, what it said is shown. */
  async endedWith(expected: (code: number | null) => boolean): Promise<void> {
    const code = await this.ended;
    if (!expected(code))
      throw new Error(`exit code ${code}
${this.stdout.slice(-3_000)}
${this.stderr.slice(-2_000)}`);
  }
}

/** Processes that have this folder in their environment: whatever the demo started, whoever its parent is now. */
async function processesOf(temporary: string): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    if (!environment.split('\0').includes(`TMPDIR=${temporary}`)) continue;
    found.set(Number(pid), (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' '));
  }
  return found;
}

/** TCP ports on which one of these processes listens. */
async function portsOf(pids: Iterable<number>): Promise<number[]> {
  const inodes = new Set<string>();
  for (const pid of pids) {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const link = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => '');
      const socket = /^socket:\[(\d+)\]$/.exec(link)?.[1];
      if (socket !== undefined) inodes.add(socket);
    }
  }
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')),
  );
  return tables.flatMap((table) =>
    table.split('\n').flatMap((line) => {
      const columns = line.trim().split(/\s+/);
      const [, local = '', , state, , , , , , inode = ''] = columns;
      return state === '0A' && inodes.has(inode) ? [Number.parseInt(local.split(':')[1] ?? '', 16)] : [];
    }),
  );
}

/** A copy of the sources in which one piece of text is another. */
async function mutant(name: string, file: string, from: string, to: string): Promise<string> {
  const copy = path.join(scratch, name);
  await mkdir(copy);
  for (const source of SOURCES) await cp(path.join(root, source), path.join(copy, source), { recursive: true });
  await symlink(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
  const target = path.join(copy, file);
  const text = await readFile(target, 'utf8');
  if (text.split(from).length !== 2) throw new Error(`${file} does not have this once: ${from}`);
  await writeFile(
    target,
    text.replace(from, () => to),
  );
  return copy;
}

// One after the other: each brings a server, a worker and four agents.
describe.sequential('the demo', { timeout: 1_200_000 }, () => {
  it('does every task of any folder once, over a killed and a stopped agent', async () => {
    const demo = await Demo.start(root, []);
    await demo.endedWith((code) => code === 0);
    expect(demo.summary).toMatchObject({ tasks: TEXTS, completed: TEXTS, duplicate_results: 0 });
    expect(demo.summary.reassigned).toBeGreaterThanOrEqual(2);
    expect(demo.summary.refused_stale).toBeGreaterThanOrEqual(1);
    expect(demo.summary.epochs).toBeGreaterThanOrEqual(3);
    expect(demo.summary.stale_directives_refused).toBeGreaterThanOrEqual(1);
    expect(demo.summary.rolled_back).toBeGreaterThanOrEqual(1);
    expect(demo.summary).toMatchObject({ barrier_dropped: ['agent-1'], decision: 'yes' });
    // Without Synod a task is lost with its agent, and each part of the report that is there was paid for.
    const { act1 } = demo.summary;
    expect(act1).toMatchObject({ tasks: TEXTS, lost: 1 });
    expect(act1?.paid_calls).toBe(TEXTS - 1 + (act1?.wasted_calls ?? Number.NaN));
    expect(demo.stdout).toMatch(/work lost with its agent +1 +0\n/);
    expect(demo.stdout).toMatch(
      /agent-1 took .+ with token 1 and was killed holding it\. Its lease ran out at .+ took over .+ with token 2/,
    );
    expect(demo.stdout).toMatch(/agent-3 still submitted .+\. It was refused: stale_token/);
    expect(demo.stdout).toMatch(/agent-3 led from .+ in epoch 1\./);
    expect(demo.stdout).toMatch(/agent-1 led from .+ in epoch 2; agent-3 had sent no heartbeat for too long\./);
    expect(demo.stdout).toMatch(/agent-3 still issued a directive of epoch 1\. It was refused: stale_epoch/);
    expect(demo.stdout).toMatch(/agent-3 lost the lock of the report .+ rolled back, and agent-[24] wrote next/);
    for (const name of [
      'größe und maß.txt',
      '東京 日記.txt',
      'nothing at all.txt',
      'long.txt',
      'notes of a journey/day 1.md',
    ])
      expect(demo.stdout).toContain(`${name} is completed by agent-`);
    expect(demo.stdout).not.toContain('picture.png');
    expect(await readdir(demo.temporary)).toEqual(expect.not.arrayContaining([expect.stringMatching(/^synod-/)]));
  });

  it.skipIf(process.platform !== 'linux')('leaves nothing behind when it is stopped in the middle', async () => {
    const demo = await Demo.start();
    await expect.poll(() => demo.stdout).toMatch(/is completed by agent-/);
    const before = await processesOf(demo.temporary);
    const ports = await portsOf(before.keys());
    // The demo under tsx, a server, a worker and agents; and the server's port among others.
    expect(before.size).toBeGreaterThanOrEqual(6);
    expect(ports.length).toBeGreaterThanOrEqual(1);
    expect(await readdir(demo.temporary)).toEqual(expect.arrayContaining([expect.stringMatching(/^synod-demo-/)]));
    process.kill(-(demo.child.pid ?? Number.NaN), 'SIGINT');
    await demo.endedWith((code) => code !== 0);
    // What watches over the server ends a moment after it.
    await expect.poll(async () => [...(await processesOf(demo.temporary)).values()]).toEqual([]);
    expect(await portsOf(before.keys())).toEqual([]);
    expect(await readdir(demo.temporary)).toEqual(expect.not.arrayContaining([expect.stringMatching(/^synod-/)]));
  });

  it('notices when the fence is gone', async () => {
    const copy = await mutant(
      'no-fence',
      'src/client/leases/fence.ts',
      'if (seen !== undefined && token < seen)',
      'if (seen === null)',
    );
    const demo = await Demo.start(copy);
    await demo.endedWith((code) => code === 1);
    expect(demo.summary.refused_stale).toBe(0);
    expect(demo.summary.duplicate_results).toBeGreaterThanOrEqual(1);
  });

  it('notices when a task that is held can be claimed', async () => {
    const file = 'src/protocols/task-lease/protocol.ts';
    const copy = await mutant(
      'no-lease',
      file,
      "if (state.lease) return { state, verdict: ['lost', state.lease.holder, state.attempt], quiet: true };",
      '',
    );
    const demo = await Demo.start(copy);
    await demo.endedWith((code) => code === 1);
    expect(demo.summary.duplicate_results).toBeGreaterThanOrEqual(1);
  });
});
