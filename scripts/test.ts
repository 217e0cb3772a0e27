// `npm test`: makes sure of the Temporal servers, runs every test runner and ends with one line of figures.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ensureExecutable } from '../src/dev/find.ts';
import { messageOf } from '../src/dev/log.ts';
import { add, summary, zero } from './runners/counts.ts';
import type { Counts, Runner } from './runners/counts.ts';
import { pytest } from './runners/python.ts';
import { vitest } from './runners/vitest.ts';

/** In this order. Arguments of `npm test --` go to the first one alone, unless `--only=NAME` chooses another. */
const RUNNERS: readonly [Runner, ...Runner[]] = [vitest, pytest];

/** In CI nothing may be left out because a tool is missing. */
const strict = ['1', 'true'].includes(process.env['CI'] ?? '');

async function main(): Promise<Counts> {
  const args = process.argv.slice(2);
  const only = args.find((arg) => arg.startsWith('--only='))?.slice('--only='.length);
  const rest = args.filter((arg) => !arg.startsWith('--only='));
  const chosen = choose(only, rest);
  if (chosen.length === 0) {
    const names = RUNNERS.map(({ name }) => name).join(', ');
    return { ...zero, failed: 1, problems: [`there is no runner "${only}"; there are: ${names}`] };
  }
  try {
    await ensureExecutable('temporal');
    await ensureExecutable('temporal-test-server');
  } catch (error) {
    return { ...zero, failed: 1, problems: [messageOf(error)] };
  }
  let total = zero;
  const folder = await mkdtemp(path.join(tmpdir(), 'synod-test-'));
  try {
    for (const runner of chosen) {
      const missing = await runner.missing();
      if (missing === undefined) {
        total = add(total, await runner.run({ args: rest, folder, strict }));
      } else {
        const problem = `${runner.name}: ${missing}`;
        total = add(total, strict ? { ...zero, failed: 1, problems: [problem] } : { ...zero, skipped: 1 });
        if (!strict) console.log(`skipped ${problem}`);
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return total;
}

function choose(only: string | undefined, rest: readonly string[]): readonly Runner[] {
  if (only !== undefined) return RUNNERS.filter(({ name }) => name === only);
  return rest.length > 0 ? [RUNNERS[0]] : RUNNERS;
}

const counts = await main();
for (const problem of counts.problems) console.error(`failed: ${problem}`);
if (counts.failed > 0) process.exitCode = 1;
// The last line, in this form: others read it.
console.log(summary(counts));
