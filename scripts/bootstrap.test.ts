import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { root } from './run.ts';

let repo: string;
let npm: string;

beforeEach(async () => {
  repo = await mkdtemp(path.join(tmpdir(), 'synod-bootstrap-'));
  await mkdir(path.join(repo, 'scripts'));
  await copyFile(path.join(root, 'scripts/bootstrap.mjs'), path.join(repo, 'scripts/bootstrap.mjs'));
  await lockfile({
    '': {},
    'node_modules/a': { version: '1.0.0' },
    'node_modules/other-os': { version: '1.0.0', optional: true },
  });
  // Stands in for npm: records its arguments, and takes a moment so that two runs would overlap.
  npm = path.join(repo, 'npm.mjs');
  await writeFile(
    npm,
    `import { appendFileSync, mkdirSync } from 'node:fs';
     appendFileSync('npm.log', process.argv.slice(2).join(' ') + '\\n');
     console.log('output of npm');
     mkdirSync('node_modules/.bin', { recursive: true });
     setTimeout(() => process.exit(Number(process.env.NPM_EXIT ?? 0)), 300);`,
  );
});
afterEach(() => rm(repo, { recursive: true, force: true }));

async function lockfile(packages: object): Promise<void> {
  await writeFile(path.join(repo, 'package-lock.json'), JSON.stringify({ packages }));
}

/** What npm leaves behind after `npm install`. */
async function installedByHand(packages: object): Promise<void> {
  await mkdir(path.join(repo, 'node_modules'), { recursive: true });
  await writeFile(path.join(repo, 'node_modules/.package-lock.json'), JSON.stringify({ packages }));
}

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  return spawn(process.execPath, [path.join(repo, 'scripts/bootstrap.mjs'), ...args], {
    env: { ...process.env, npm_execpath: npm, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function ended(child: ChildProcess): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const text = { stdout: '', stderr: '' };
  child.stdout?.on('data', (data: Buffer) => (text.stdout += data.toString()));
  child.stderr?.on('data', (data: Buffer) => (text.stderr += data.toString()));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, ...text })));
}

const runs = async (): Promise<number> =>
  (await readFile(path.join(repo, 'npm.log'), 'utf8').catch(() => '')).split('\n').length - 1;

const ECHO = ['node', '-e', 'console.log(JSON.stringify(process.argv.slice(1)))'];

describe('bootstrap', () => {
  it('installs once, reports it on stderr, and passes arguments on', async () => {
    const first = await ended(start([...ECHO, 'one', 'two words']));
    expect(first).toMatchObject({ code: 0, stdout: '["one","two words"]\n' });
    expect(first.stderr).toContain('synod: installing the dependencies (npm ci)');
    expect(await ended(start(ECHO))).toMatchObject({ code: 0, stderr: '' });
    expect(await runs()).toBe(1);
  });

  it('installs again when package-lock.json has changed', async () => {
    await ended(start(ECHO));
    await lockfile({ '': {}, 'node_modules/a': { version: '2.0.0' } });
    await ended(start(ECHO));
    expect(await runs()).toBe(2);
  });

  it('accepts what npm installed by hand, if it is what the lock file asks for', async () => {
    await installedByHand({ 'node_modules/a': { version: '1.0.0' } });
    await ended(start(ECHO));
    expect(await runs()).toBe(0);
    await lockfile({ '': {}, 'node_modules/a': { version: '2.0.0' } });
    await ended(start(ECHO));
    expect(await runs()).toBe(1);
  });

  it('installs once when several start together', async () => {
    const all = await Promise.all(Array.from({ length: 4 }, () => ended(start(ECHO))));
    expect(all.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect(await runs()).toBe(1);
    expect(await readdir(path.join(repo, '.cache'))).toEqual([]);
  });

  it('takes over the lock of a process that is gone', async () => {
    const gone = spawn(process.execPath, ['-e', '']);
    await ended(gone);
    await mkdir(path.join(repo, '.cache/install.lock'), { recursive: true });
    await writeFile(path.join(repo, '.cache/install.lock/pid'), String(gone.pid));
    expect(await ended(start(ECHO))).toMatchObject({ code: 0 });
    expect(await runs()).toBe(1);
  });

  it('fails when npm fails, and tries again the next time', async () => {
    const failed = await ended(start(ECHO, { NPM_EXIT: '3' }));
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr).toContain('npm ci failed (exit code 3)');
    expect(await ended(start(ECHO))).toMatchObject({ code: 0 });
  });

  it("ends with the command's exit code, and with 127 when there is no such command", async () => {
    expect(await ended(start(['node', '-e', 'process.exit(7)']))).toMatchObject({ code: 7 });
    expect(await ended(start(['no-such-command']))).toMatchObject({ code: 127 });
  });

  it.each([
    ['SIGINT', 5],
    ['SIGTERM', 5],
  ] as const)('passes %s on once, and waits for the command to end in its own way', async (signal, code) => {
    const script = `let n = 0;
      process.on('${signal}', () => { n++; setTimeout(() => process.exit(n === 1 ? 5 : 6), 200); });
      setInterval(() => {}, 1000);
      console.log('ready');`;
    const child = start(['node', '-e', script]);
    const result = ended(child);
    await new Promise((resolve) => child.stdout?.once('data', resolve));
    child.kill(signal);
    child.kill(signal);
    expect((await result).code).toBe(code);
  });

  it.skipIf(process.platform === 'win32')('ends the command when the shell of npm has been killed', async () => {
    const script = `process.on('SIGTERM', () => { console.log('ended'); process.exit(); });
      setInterval(() => {}, 1000);
      console.log('ready');`;
    const bootstrap = path.join(repo, 'scripts/bootstrap.mjs');
    // The second command keeps the shell from replacing itself by the first.
    const shell = spawn('/bin/sh', ['-c', '"$@"; :', 'sh', process.execPath, bootstrap, 'node', '-e', script], {
      env: { ...process.env, npm_execpath: npm, npm_lifecycle_event: 'demo' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const result = ended(shell);
    await new Promise((resolve) => shell.stdout.once('data', resolve));
    shell.kill('SIGTERM');
    // Its output is closed only when the command has ended too.
    expect((await result).stdout).toBe('ready\nended\n');
  });

  it('ends with 128 + n when signal n ended the command', async () => {
    expect(await ended(start(['node', '-e', "process.kill(process.pid, 'SIGTERM')"]))).toMatchObject({ code: 143 });
  });
});
