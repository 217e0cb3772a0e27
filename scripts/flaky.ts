// `npm run flaky`: runs the test suites again and again and says which of them fail at times; see HELP.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { ensureExecutable } from '../src/dev/find.ts';
import { messageOf } from '../src/dev/log.ts';
import { startLoad } from './flaky/load.ts';
import { flakyOptions, HELP, partOf } from './flaky/options.ts';
import type { FlakyOptions } from './flaky/options.ts';
import { Tally } from './flaky/tally.ts';
import { root, run, seconds } from './run.ts';
import { runVitest, suitesOf } from './runners/vitest.ts';

/** The test files that vitest finds for the paths, relative to the root. */
async function filesOf(paths: readonly string[], folder: string): Promise<string[]> {
  const file = path.join(folder, 'files.json');
  const { output } = await run('vitest', ['list', '--filesOnly', `--json=${file}`, ...paths], { capture: true });
  const text = await readFile(file, 'utf8').catch(() => {
    throw new Error(`vitest names no test file: ${output.trim()}`);
  });
  return z
    .array(z.object({ file: z.string() }))
    .parse(JSON.parse(text))
    .map((entry) => path.relative(root, entry.file));
}

function portionsOf(files: readonly string[], size: number): string[][] {
  return Array.from({ length: Math.ceil(files.length / size) }, (_, at) => files.slice(at * size, (at + 1) * size));
}

/** Runs one portion once and adds what it came to, unless it was interrupted. */
async function runPortion(files: readonly string[], tally: Tally, folder: string, signal: AbortSignal): Promise<void> {
  const report = path.join(folder, 'vitest.json');
  await rm(report, { force: true });
  const { code, report: content, unusable } = await runVitest(files, report, { quiet: true, signal });
  if (signal.aborted) return;
  if (unusable !== undefined) return tally.add(files, undefined, unusable);
  const suites = suitesOf(content, { whole: false });
  const explained = suites.some(({ failing, problem }) => failing.length > 0 || problem !== undefined);
  const outside = `vitest ended with exit code ${code} although no test failed, in a run of ${files.join(' ')}`;
  tally.add(files, suites, code !== 0 && !explained ? outside : undefined);
}

async function loop(options: FlakyOptions, tally: Tally, folder: string, signal: AbortSignal): Promise<void> {
  const files = partOf(await filesOf(options.paths, folder), options.shard);
  const portions = portionsOf(files, options.portion);
  const started = Date.now();
  const end = started + options.minutes * 60_000;
  for (let round = 1; round <= options.times; round++) {
    for (const [at, portion] of portions.entries()) {
      if (signal.aborted || Date.now() >= end) return;
      await runPortion(portion, tally, folder, signal);
      if (signal.aborted) return;
      const where = `round ${round}/${options.times}, portion ${at + 1}/${portions.length}`;
      console.error(`${where}, ${seconds(Date.now() - started)}: ${tally.failed} suites failed so far`);
      for (const line of tally.failuresOf(portion)) console.error(`  ${line}`);
    }
  }
}

async function main(): Promise<number> {
  let options: FlakyOptions;
  try {
    options = flakyOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${messageOf(error)}\n\n${HELP}`);
    return 2;
  }
  if (options.help) {
    console.log(HELP);
    return 0;
  }
  await ensureExecutable('temporal');
  await ensureExecutable('temporal-test-server');
  const stopping = new AbortController();
  // Ctrl-C ends the portion under way; the table of what has run is still written.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());
  const folder = await mkdtemp(path.join(tmpdir(), 'synod-flaky-'));
  const tally = new Tally();
  const load = options.load ? startLoad() : undefined;
  try {
    await loop(options, tally, folder, stopping.signal);
  } finally {
    await load?.stop();
    await rm(folder, { recursive: true, force: true });
  }
  console.log(tally.table());
  // The last line, in this form: others read it.
  console.log(JSON.stringify({ ...tally.json(), interrupted: stopping.signal.aborted, load: options.load }));
  return tally.clean ? 0 : 1;
}

process.exitCode = await main();
