// Everything about the code that needs no server: `npm run check`. Runs all steps and then lists what failed.
import { run, seconds } from './run.ts';

interface Step {
  title: string;
  command: readonly [string, ...string[]];
  /** What to do when it fails. */
  mend: string;
  /** Titles of the steps without which this one cannot run. */
  needs?: readonly string[];
}

const STEPS: readonly Step[] = [
  { title: 'types', command: ['tsc', '--noEmit'], mend: 'mend the types that tsc names' },
  {
    title: 'lint',
    command: ['oxlint', '--type-aware', '--deny-warnings'],
    mend: 'mend what oxlint names; its rules are in .oxlintrc.json',
  },
  { title: 'format', command: ['prettier', '--check', '.'], mend: 'npm run format' },
  { title: 'build', command: ['tsdown', '--logLevel', 'warn'], mend: 'mend the entries that tsdown.config.ts names' },
  {
    title: 'package (publint)',
    command: ['publint', '--strict'],
    mend: 'bring "exports" in package.json and tsdown.config.ts together',
    needs: ['build'],
  },
  {
    title: 'package (types for its users)',
    command: ['attw', '--pack', '.', '--profile', 'node16'],
    mend: 'bring "exports" in package.json and tsdown.config.ts together',
    needs: ['build'],
  },
];

const failed: Step[] = [];
for (const step of STEPS) {
  const missing = step.needs?.find((title) => failed.some((other) => other.title === title));
  if (missing !== undefined) {
    console.log(`- ${step.title}: not run, because "${missing}" failed`);
    continue;
  }
  const started = Date.now();
  const [command, ...args] = step.command;
  const { code, output } = await run(command, args, { capture: true });
  console.log(`${code === 0 ? '✓' : '✗'} ${step.title} (${seconds(Date.now() - started)})`);
  if (code === 0) continue;
  failed.push(step);
  console.log(`${output.trimEnd()}\n`);
}

if (failed.length > 0) {
  console.log(`\n${failed.length} of ${STEPS.length} checks failed:`);
  for (const { title, mend } of failed) console.log(`  ${title}: ${mend}`);
  process.exitCode = 1;
}
