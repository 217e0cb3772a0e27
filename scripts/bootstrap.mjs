// Runs a command of this repository after making sure that its dependencies are installed:
//   node scripts/bootstrap.mjs tsx examples/demo/main.ts --some-argument
// Plain JavaScript without dependencies, because it runs before there are any.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const modules = path.join(root, 'node_modules');
const marker = path.join(modules, '.synod-lock');
const lock = path.join(root, '.cache', 'install.lock');
const STALE_MS = 15 * 60 * 1000;
const windows = process.platform === 'win32';
/** The parent at the start: another one later means that it has ended. */
const parent = process.ppid;

/** @param {string} line */
function say(line) {
  process.stderr.write(`synod: ${line}\n`);
}

/** @param {string} file */
function readText(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** Whether node_modules is what package-lock.json asks for. Leaves a marker, so that the next time is quick. */
function installed() {
  const wanted = readFileSync(path.join(root, 'package-lock.json'), 'utf8');
  const hash = createHash('sha256').update(wanted).digest('hex');
  if (readText(marker) === hash) return true;
  // No marker of ours: npm may have been run by hand. It keeps a list of what it installed.
  const list = readText(path.join(modules, '.package-lock.json'));
  if (list === undefined || !sameVersions(wanted, list)) return false;
  writeFileSync(marker, hash);
  return true;
}

/**
 * @param {string} wantedText
 * @param {string} haveText
 */
function sameVersions(wantedText, haveText) {
  try {
    const wanted = JSON.parse(wantedText).packages;
    const have = JSON.parse(haveText).packages;
    return Object.entries(wanted).every(([name, entry]) => {
      if (name === '' || entry.link) return true;
      const own = have[name];
      // Optional packages are for other platforms.
      return own === undefined ? Boolean(entry.optional) : own.version === entry.version;
    });
  } catch {
    return false;
  }
}

/** Takes the lock if it is free or its owner is gone; returns whether it did. */
function takeLock() {
  mkdirSync(path.dirname(lock), { recursive: true });
  if (makeLock()) return true;
  const owner = readText(path.join(lock, 'pid'));
  return stale(owner) && removeLockOf(owner) && makeLock();
}

function makeLock() {
  try {
    mkdirSync(lock);
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
  writeFileSync(path.join(lock, 'pid'), String(process.pid));
  return true;
}

/** @param {string | undefined} owner */
function stale(owner) {
  const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
  // Its owner may be between making the folder and writing its pid.
  if (!owner) return age > 10_000;
  if (age > STALE_MS) return true;
  try {
    process.kill(Number(owner), 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

/** @param {string | undefined} owner */
function removeLockOf(owner) {
  const aside = `${lock}.${process.pid}`;
  try {
    renameSync(lock, aside);
    // Another process may have replaced the stale lock by its own since it was read: give that one back.
    const same = readText(path.join(aside, 'pid')) === owner;
    if (same) rmSync(aside, { recursive: true, force: true });
    else renameSync(aside, lock);
    return same;
  } catch {
    return false;
  }
}

async function ensureInstalled() {
  if (installed()) return;
  let waiting = false;
  while (!takeLock()) {
    if (!waiting) say('another process is installing the dependencies, waiting for it');
    waiting = true;
    await wait(200);
  }
  const release = () => rmSync(lock, { recursive: true, force: true });
  process.once('exit', release);
  try {
    if (installed()) return;
    say('installing the dependencies (npm ci)');
    const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
    // Under pnpm or yarn this names their executable, which is no use here.
    const npm = /(^|[\\/])npm[^\\/]*$/.test(process.env.npm_execpath ?? '') ? process.env.npm_execpath : undefined;
    // stdout is for results: the output of npm goes to stderr.
    const options = { cwd: root, stdio: ['ignore', 2, 2], shell: npm === undefined && windows };
    const result =
      npm === undefined ? spawnSync('npm', args, options) : spawnSync(process.execPath, [npm, ...args], options);
    if (result.status !== 0) {
      const how = result.error?.message ?? (result.signal ? `ended by ${result.signal}` : `exit code ${result.status}`);
      say(`npm ci failed (${how}). Correct what it prints above and run the command again.`);
      process.exit(1);
    }
    writeFileSync(
      marker,
      createHash('sha256')
        .update(readFileSync(path.join(root, 'package-lock.json')))
        .digest('hex'),
    );
  } finally {
    process.off('exit', release);
    release();
  }
}

/**
 * Runs the command in the caller's terminal and ends as it ends.
 * @param {string} command
 * @param {string[]} args
 */
function run(command, args) {
  const bin = path.join(modules, '.bin');
  const PATH = [bin, process.env.PATH].filter(Boolean).join(path.delimiter);
  const terminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  /** @type {Set<string>} */
  const forwarded = new Set();
  /** @param {NodeJS.Signals} signal */
  const forward = (signal) => {
    if (forwarded.has(signal)) return;
    forwarded.add(signal);
    child.kill(signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      // A terminal sends Ctrl-C to the whole group: the child has it already.
      if (signal !== 'SIGINT' || !terminal) forward(signal);
    });
  }
  // After that: a signal is passed on as soon as the child runs.
  const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, PATH }, shell: windows });
  if (process.env.npm_lifecycle_event !== undefined && !windows) {
    // npm hands SIGTERM to the shell between it and us, which ends without passing it on: only this check notices.
    setInterval(() => process.ppid !== parent && forward('SIGTERM'), 250).unref();
  }
  child.on('error', (error) => {
    say(`cannot run ${command}: ${error.message}`);
    process.exit(127);
  });
  child.on('exit', (code, signal) => {
    process.exit(signal === null ? code : 128 + (constants.signals[signal] ?? 0));
  });
}

const [command, ...args] = process.argv.slice(2);
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  say(`Node ${process.versions.node} is too old: install Node 20.19 or newer.`);
  process.exit(1);
}
if (command === undefined || !existsSync(path.join(root, 'package-lock.json'))) {
  say('usage: node scripts/bootstrap.mjs COMMAND [ARGUMENT...], in a checkout with its package-lock.json');
  process.exit(2);
}
await ensureInstalled();
run(command, args);
