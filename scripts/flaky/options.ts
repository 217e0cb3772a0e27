import { parseArgs } from 'node:util';

/** What `npm run flaky --` was asked for. */
export interface FlakyOptions {
  /** How often each suite runs. */
  times: number;
  /** Run beside one busy process per core. */
  load: boolean;
  /** Start no run of a portion after this many minutes; Infinity without a bound. */
  minutes: number;
  /** Test files that vitest runs at a time, between two lines of progress. */
  portion: number;
  /** Of all suites only those of part `index` (from 1) of `count`. */
  shard: { index: number; count: number };
  /** Only suites whose path contains one of these; all when empty. */
  paths: readonly string[];
  help: boolean;
}

export const HELP = `Runs the test suites again and again and says which of them fail at times.

npm run flaky -- [options] [paths...]

  --times N       how often each suite runs, 1 to 1000 (default 20)
  --load          beside one busy process per core
  --minutes M     start nothing after M minutes (default: no bound)
  --shard I/N     only part I of N of the suites, such as 1/4
  --portion N     test files between two lines of progress, 1 to 100 (default 8)
  --help          this text
  paths           only suites whose path contains one of these

Each round runs every suite once, in portions. At the end, and also after Ctrl-C or M minutes, one row per suite:
runs, passed, failed, slowest run, names of failing tests. The last line is the same as JSON. The exit code is 1 when
anything failed or nothing ran, 2 for a wrong option.`;

/**
 * Reads the arguments of the command line.
 * @throws Error that says which argument is wrong and what it takes
 */
export function flakyOptions(args: readonly string[]): FlakyOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      times: { type: 'string', default: '20' },
      load: { type: 'boolean', default: false },
      minutes: { type: 'string' },
      portion: { type: 'string', default: '8' },
      shard: { type: 'string', default: '1/1' },
      help: { type: 'boolean', default: false },
    },
  });
  return {
    times: whole('--times', values.times, 1_000),
    load: values.load,
    minutes: values.minutes === undefined ? Infinity : minutes(values.minutes),
    portion: whole('--portion', values.portion, 100),
    shard: shard(values.shard),
    paths: positionals,
    help: values.help,
  };
}

function whole(name: string, text: string, most: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= 1 && value <= most)) throw new Error(`${name} takes a whole number from 1 to ${most}, not "${text}"`);
  return value;
}

function minutes(text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(value > 0)) throw new Error(`--minutes takes a number above 0, not "${text}"`);
  return value;
}

function shard(text: string): { index: number; count: number } {
  const [, index = 0, count = 0] = (/^(\d+)\/(\d+)$/.exec(text) ?? []).map(Number);
  if (index < 1 || index > count) throw new Error(`--shard takes I/N with I from 1 to N, such as 1/4, not "${text}"`);
  return { index, count };
}

/** Every `count`-th of the sorted files, from the `index`-th on: together the parts are all files, each once. */
export function partOf(files: readonly string[], { index, count }: { index: number; count: number }): string[] {
  return files.toSorted().filter((_file, at) => at % count === index - 1);
}
