import { Command, InvalidArgumentError } from 'commander';
import { scopes } from './scopes/index.ts';

const DEFAULT_MAX_STATES = 2_000_000;

function positive(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new InvalidArgumentError('must be a whole number > 0');
}

const known = scopes.map(({ name, about }) => `  ${name.padEnd(22)}${about}`).join('\n');
const program = new Command('npm run model --')
  .description(
    'Explores every interleaving of a few agents, their repeats, lost answers and the clock against the pure protocols.\n' +
      'The last line is one JSON object; the exit code is 1 on a violation, or where not every state was reached.',
  )
  .argument('[scope...]', 'the scopes to explore (default: all)')
  .option('--max-states <n>', 'give up after so many states of a scope', positive, DEFAULT_MAX_STATES)
  .addHelpText('after', `\nScopes:\n${known}`)
  .parse();

const { maxStates } = program.opts<{ maxStates: number }>();
const unknown = program.args.find((name) => !scopes.some((scope) => scope.name === name));
if (unknown !== undefined) program.error(`error: no scope "${unknown}"; there are:\n${known}`);

const results = scopes
  .filter(({ name }) => program.args.length === 0 || program.args.includes(name))
  .map(({ name, about, run }) => {
    console.error(`${name}: ${about}`);
    const started = performance.now();
    const result = run({
      maxStates,
      onProgress: (states, transitions, waiting) =>
        console.error(`  ${states} states, ${transitions} transitions, ${waiting} in the next layer`),
    });
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.error(
      `  ${result.states} states, ${result.transitions} transitions, ${result.violations} violations, ` +
        `${result.exhausted ? 'all reached' : 'NOT all reached: raise --max-states'}, ${seconds} s`,
    );
    for (const { property, path } of result.examples)
      console.error(`  broken: ${property}\n    ${path.join('\n    ')}`);
    const { states, transitions, exhausted, violations } = result;
    return { name, states, transitions, exhausted, violations };
  });

console.log(JSON.stringify({ scopes: results }));
if (results.some(({ exhausted, violations }) => !exhausted || violations > 0)) process.exitCode = 1;
