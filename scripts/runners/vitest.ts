import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { messageOf } from '../../src/dev/log.ts';
import { root, run } from '../run.ts';
import type { Counts, Runner } from './counts.ts';

/** The part of vitest's JSON report that is read here. */
const Report = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().optional(),
      startTime: z.number().optional(),
      endTime: z.number().optional(),
      assertionResults: z.array(z.object({ status: z.string(), fullName: z.string().optional() })),
    }),
  ),
});

/** What one test file came to. */
export interface SuiteResult {
  /** Relative to the root of the repository. */
  file: string;
  passed: number;
  skipped: number;
  /** The full names of the tests that failed. */
  failing: readonly string[];
  /** What failed outside of its tests, such as a hook, or that there was no test. */
  problem?: string;
  /** From the start of its first test to the end of its last one. */
  ms: number;
}

/** What a run of vitest came to: `report` is its parsed JSON report, undefined when it left none. */
export interface VitestRun {
  code: number;
  report?: unknown;
  /** Why there is no report. */
  unusable?: string;
}

/**
 * Runs vitest with its JSON report.
 * @param args arguments of `vitest run`
 * @param file where the report goes
 * @param options.quiet keep its output instead of showing it (default false)
 * @param options.signal when it aborts, vitest is ended
 */
export async function runVitest(
  args: readonly string[],
  file: string,
  options: { quiet?: boolean; signal?: AbortSignal } = {},
): Promise<VitestRun> {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const { quiet: capture = false, signal } = options;
  const how = { capture, ...(signal === undefined ? {} : { signal }) };
  const { code, output } = await run('vitest', ['run', ...reporters, ...args], how);
  try {
    const report: unknown = JSON.parse(await readFile(file, 'utf8'));
    return { code, report };
  } catch (error) {
    const said = output.trim().split('\n').at(-1) ?? '';
    return { code, unusable: `vitest left no usable report: ${messageOf(error)} ${said}`.trimEnd() };
  }
}

/** The TypeScript tests. */
export const vitest: Runner = {
  name: 'vitest',
  missing: () => Promise.resolve(undefined),
  async run({ args, folder, strict }) {
    const { code, report, unusable } = await runVitest(args, path.join(folder, 'vitest.json'));
    if (unusable !== undefined) return { passed: 0, failed: 1, skipped: 0, problems: [unusable] };
    const filtered = args.some((arg) => /^(-t|--testNamePattern)(=|$)/.test(arg));
    let counts: Counts;
    try {
      counts = countVitest(report, { whole: strict && !filtered });
    } catch (error) {
      return { passed: 0, failed: 1, skipped: 0, problems: [`vitest left no usable report: ${messageOf(error)}`] };
    }
    // Errors outside of any test (an unhandled rejection, a dead worker) show only in the exit code.
    if (code !== 0 && counts.failed === 0) {
      const problem = `vitest ended with exit code ${code} although no test failed: see its output above`;
      return { ...counts, failed: 1, problems: [...counts.problems, problem] };
    }
    return counts;
  },
};

/**
 * What each test file of a JSON report came to. A file without a test has a problem.
 * @param options.whole a file in which every test was skipped has one too
 * @throws ZodError when it is not a report of vitest
 */
export function suitesOf(report: unknown, options: { whole: boolean }): readonly SuiteResult[] {
  return Report.parse(report).testResults.map((suite) => {
    const { name, status, message, assertionResults, startTime = 0, endTime = 0 } = suite;
    const failing = assertionResults.filter((test) => test.status === 'failed').map(({ fullName }) => fullName ?? '?');
    const passed = assertionResults.filter((test) => test.status === 'passed').length;
    const skipped = assertionResults.length - passed - failing.length;
    const result = {
      file: path.relative(root, name),
      passed,
      skipped,
      failing,
      ms: Math.max(0, Math.round(endTime - startTime)),
    };
    if (assertionResults.length === 0) return { ...result, problem: `no test ran ${message ?? ''}`.trimEnd() };
    if (options.whole && passed + failing.length === 0) return { ...result, problem: 'every test was skipped' };
    // A hook that throws fails the file without failing a test.
    if (status !== 'failed' || failing.length > 0) return result;
    return { ...result, problem: message === undefined || message === '' ? 'failed outside of its tests' : message };
  });
}

/**
 * Counts the tests of a JSON report. A file without a test is a failure, and so is a run without a file.
 * @param options.whole a file in which every test was skipped is a failure too
 * @throws ZodError when it is not a report of vitest
 */
export function countVitest(report: unknown, options: { whole: boolean }): Counts {
  const suites = suitesOf(report, options);
  const problems = suites.flatMap(({ file, problem }) => (problem === undefined ? [] : [`${file}: ${problem}`]));
  if (suites.length === 0) problems.push('no test file was found');
  const sum = (of: (suite: SuiteResult) => number): number => suites.reduce((total, suite) => total + of(suite), 0);
  return {
    passed: sum(({ passed }) => passed),
    failed: sum(({ failing }) => failing.length) + problems.length,
    skipped: sum(({ skipped }) => skipped),
    problems,
  };
}
