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
      assertionResults: z.array(z.object({ status: z.string() })),
    }),
  ),
});

/** The TypeScript tests. */
export const vitest: Runner = {
  name: 'vitest',
  missing: () => Promise.resolve(undefined),
  async run({ args, folder, strict }) {
    const file = path.join(folder, 'vitest.json');
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
    const { code } = await run('vitest', ['run', ...reporters, ...args]);
    const filtered = args.some((arg) => /^(-t|--testNamePattern)(=|$)/.test(arg));
    let counts: Counts;
    try {
      counts = countVitest(JSON.parse(await readFile(file, 'utf8')), { whole: strict && !filtered });
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
 * Counts the tests of a JSON report. A file without a test is a failure, and so is a run without a file.
 * @param options.whole a file in which every test was skipped is a failure too
 * @throws ZodError when it is not a report of vitest
 */
export function countVitest(report: unknown, options: { whole: boolean }): Counts {
  const { testResults } = Report.parse(report);
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const problems: string[] = [];
  for (const { name, status, message, assertionResults } of testResults) {
    const file = path.relative(root, name);
    const of = (wanted: string): number => assertionResults.filter((test) => test.status === wanted).length;
    const passed = of('passed');
    const failed = of('failed');
    counts.passed += passed;
    counts.failed += failed;
    counts.skipped += assertionResults.length - passed - failed;
    if (assertionResults.length === 0) problems.push(`${file}: no test ran ${message ?? ''}`.trimEnd());
    else if (options.whole && passed + failed === 0) problems.push(`${file}: every test was skipped`);
    // A hook that throws fails the file without failing a test.
    else if (status === 'failed' && failed === 0) problems.push(`${file}: ${message ?? 'failed outside of its tests'}`);
  }
  if (testResults.length === 0) problems.push('no test file was found');
  return { ...counts, failed: counts.failed + problems.length, problems };
}
