import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { messageOf } from '../../src/dev/log.ts';
import { startStack } from '../../test/support/stack.ts';
import { root, run } from '../run.ts';
import { prepareVenv, pythonOf, venvMissing } from '../venv.ts';
import { zero } from './counts.ts';
import type { Counts, Runner } from './counts.ts';

const folder = path.join(root, 'test/python');
const requirements = path.join(folder, 'requirements.txt');
const venv = path.join(root, '.venv');
const python = pythonOf(venv);

/** The wire client in Python: it knows the contract alone. A server and a worker run for it. */
export const pytest: Runner = {
  name: 'python',
  missing: venvMissing,
  async run({ folder: reports, strict }) {
    const unusable = await prepareVenv(venv, requirements);
    if (unusable !== undefined) {
      const problem = `python: the packages of test/python/requirements.txt cannot be installed: ${unusable}`;
      if (strict) return { ...zero, failed: 1, problems: [problem] };
      console.log(`skipped ${problem}`);
      return { ...zero, skipped: 1 };
    }
    const report = path.join(reports, 'pytest.xml');
    const code = await tests(report);
    return await readFile(report, 'utf8').then(
      (xml) => countJunit(xml, code),
      (error: unknown) => ({ ...zero, failed: 1, problems: [`pytest left no report: ${messageOf(error)}`] }),
    );
  },
};

async function tests(report: string): Promise<number> {
  const stack = await startStack();
  const before = { ...process.env };
  // A child inherits the environment.
  Object.assign(process.env, { TEMPORAL_ADDRESS: stack.server.address, PYTHONDONTWRITEBYTECODE: '1' });
  try {
    return (await run(python, ['-m', 'pytest', '-p', 'no:cacheprovider', '-q', `--junitxml=${report}`, folder])).code;
  } finally {
    process.env = before;
    await stack.stop();
  }
}

/**
 * The counts of a JUnit report of pytest. An error in a fixture or a file that cannot be loaded is a failure, and so is a
 * run without a test.
 */
export function countJunit(xml: string, exitCode: number): Counts {
  const suite = /<testsuite\s[^>]*>/.exec(xml)?.[0] ?? '';
  const figure = (name: string): number => Number(new RegExp(`\\s${name}="(\\d+)"`).exec(suite)?.[1] ?? Number.NaN);
  const [tests, failures, errors, skipped] = [figure('tests'), figure('failures'), figure('errors'), figure('skipped')];
  const failed = failures + errors;
  if (Number.isNaN(tests + failed + skipped)) return { ...zero, failed: 1, problems: ['pytest left no usable report'] };
  if (tests === 0) return { ...zero, failed: 1, problems: ['pytest found no test'] };
  const counts = { passed: tests - failed - skipped, failed, skipped, problems: [] };
  if (exitCode === 0 || failed > 0) return counts;
  return { ...counts, failed: 1, problems: [`pytest ended with exit code ${exitCode} although no test failed`] };
}
