/** The demo, in two acts: agents study the files of a folder while one is killed and one is stopped; first without Synod, then with it. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { connect } from '../../src/client/index.ts';
import { actWithout, type ActFigures } from './act1.ts';
import { actWith, type Act2 } from './act2.ts';
import { fired } from './outcomes.ts';
import { OWN_TEXTS, textFiles, type InputFile } from './files.ts';
import { startServices } from './services.ts';
import { AGENTS, type DemoContext } from './context.ts';
import { faults } from './summary.ts';
import { table } from './table.ts';

/** A task for each agent: with fewer, there is nobody left to take over. */
const MIN_FILES = AGENTS.length;
/** Cleaning up takes less than this, on a busy machine too. */
const PATIENCE_MS = 15_000;

const options = new Command('demo')
  .description(
    'Agents in processes of their own study every text file of a folder, while one of them is killed and one is stopped: without Synod, then with it.',
  )
  .option('--input <dir>', "the folder (default: the project's own sources and docs)", OWN_TEXTS)
  .addOption(new Option('--act <number>', 'only the first act, or only the second').choices(['1', '2']))
  .option('--keep', 'leave the server and its Web UI up at the end, until Ctrl-C')
  .option('--json', 'show the room as JSON lines')
  .option('--time-limit <seconds>', 'give up after so long', Number, 600)
  .parse()
  .opts<{ input: string; act?: '1' | '2'; keep?: boolean; json?: boolean; timeLimit: number }>();

const abort = new AbortController();
let stopped = false;
let stoppedAt = 0;
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.on(signal, () => {
    // One Ctrl-C may come twice, from the terminal and from whoever started this process; only much later it means: at once.
    if (abort.signal.aborted && performance.now() - stoppedAt > PATIENCE_MS) process.exit(code);
    if (abort.signal.aborted) return;
    stopped = true;
    stoppedAt = performance.now();
    console.error('demo: cleaning up');
    abort.abort(new Error(`stopped by ${signal}`));
  });
}
const watchdog = setTimeout(
  () => abort.abort(new Error(`not done after ${options.timeLimit} s`)),
  options.timeLimit * 1_000,
);

const cleanUps: (() => Promise<unknown>)[] = [];
let code = 1;
try {
  code = await demo();
} catch (error) {
  if (!(options.keep && stopped && code === 0))
    console.error(`demo: ${error instanceof Error ? error.message : String(error)}`);
}
clearTimeout(watchdog);
if (stopped && !(options.keep && code === 0)) code = 130;
for (const step of cleanUps)
  await step().catch((error: unknown) => console.error(`demo: cleaning up: ${String(error)}`));
// A call that still looks for a server that has died must not keep this process.
process.exit(code);

async function demo(): Promise<number> {
  const root = resolve(options.input);
  const files = await textFiles(root);
  if (files.length < MIN_FILES) {
    throw new Error(
      `${options.input} holds ${files.length} text files, the demo needs ${MIN_FILES}: give another folder with --input DIR`,
    );
  }
  const folder = await mkdtemp(join(tmpdir(), 'synod-demo-'));
  cleanUps.unshift(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const without = options.act === '2' ? undefined : await actOne(await contextOf('act-1', files, root, folder));
  if (options.act === '1') return last({ act1: without }, []);
  return await actTwo(await contextOf('act-2', files, root, folder), without);
}

async function actOne(context: DemoContext): Promise<ActFigures> {
  context.highlight('Act 1. The same agents without Synod: they share a folder and a chat.');
  const figures = await actWithout(context);
  context.highlight(
    `Act 1 is over: ${figures.duplicate_results} done twice, ${figures.lost} lost, ${figures.torn} torn.`,
  );
  return figures;
}

async function actTwo(context: DemoContext, without: ActFigures | undefined): Promise<number> {
  context.highlight('Act 2. With Synod: leases, tokens, a durable room. Starting a server and a worker.');
  const services = await startServices(context.folder, (error) => abort.abort(error));
  cleanUps.unshift(() => services.stop());
  abort.signal.throwIfAborted();
  const room = `demo-${process.pid}-${Date.now().toString(36)}`;
  const { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace } = services.env;
  if (services.uiUrl !== undefined) context.highlight(`The Web UI is at ${services.uiUrl}`);
  const client = await connect({ address, namespace });
  cleanUps.unshift(() => client.connection.close());
  const act = await actWith(context, client, room, services.env, options.json ? 'json' : 'text').catch(
    (error: unknown) => {
      if (!stopped) console.error(`demo: the last output of the worker:\n${services.tail()}`);
      throw error;
    },
  );
  printEnd(act, without);
  const watch = `TEMPORAL_ADDRESS=${address} npx tsx src/cli/main.ts watch ${room}`;
  context.highlight(
    options.keep
      ? `Everything keeps running until Ctrl-C. Try in a second terminal: ${watch}`
      : 'To look at the room afterwards: npm run demo -- --keep',
  );
  code = last({ ...act.summary, ...(without ? { act1: without } : {}) }, faults(act));
  if (options.keep) await fired(abort.signal);
  return code;
}

function printEnd({ timeline, figures }: Act2, without: ActFigures | undefined): void {
  if (options.json) return;
  console.log(`\n${table(without, figures)}\n`);
  for (const sentence of timeline) console.log(`   ${sentence}`);
}

/** Prints what is wrong, and the last line. */
function last(summary: object, wrong: readonly string[]): number {
  for (const fault of wrong) console.error(`demo: ${fault}`);
  console.log(JSON.stringify(summary));
  return wrong.length === 0 ? 0 : 1;
}

async function contextOf(
  name: string,
  files: readonly InputFile[],
  root: string,
  folder: string,
): Promise<DemoContext> {
  const own = join(folder, name);
  await mkdir(own);
  return {
    files,
    root,
    folder: own,
    signal: abort.signal,
    highlight: (text) => (options.json ? undefined : console.log(`\n   >>  ${text}\n`)),
    log: (text) => console.log(text),
    fail: (error) => abort.abort(error),
    until,
    cleanUp: (step) => cleanUps.unshift(step),
  };
}

/** The result of some work, unless the demo is stopped first. */
async function until<T>(work: Promise<T>): Promise<T> {
  return await Promise.race([
    work,
    fired(abort.signal).then(() => {
      throw abort.signal.reason;
    }),
  ]);
}
