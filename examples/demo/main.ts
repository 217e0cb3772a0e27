/** The demo: agents share the work of a folder, one is killed, one is stopped past its lease, and nothing is done twice. */
import { mkdtemp, mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { consoleLine, type ConsoleFormat } from '../../src/bridge/console.ts';
import { Agent, connect } from '../../src/client/index.ts';
import { Crew } from './crew.ts';
import { Fates, fired, type Fate } from './fates.ts';
import { textFiles } from './files.ts';
import { startServices } from './services.ts';
import { ResultStore } from './store.ts';
import { faults, summarise, type Summary } from './summary.ts';

const AGENTS = ['agent-1', 'agent-2', 'agent-3', 'agent-4'];
const DOOMED = 'agent-2';
const SLEEPY = 'agent-3';
/** Short, so that a lost task is soon handed on. */
const LEASE_SECONDS = 4;
/** A task for each agent: with fewer, there is nobody left to take over. */
const MIN_FILES = AGENTS.length;
const OWN_TEXTS = fileURLToPath(new URL('../..', import.meta.url));

const options = new Command('demo')
  .description(
    'Agents in processes of their own count the words of every text file in a folder, while one of them is killed and one is stopped.',
  )
  .option('--input <dir>', "the folder (default: the project's own sources and docs)", OWN_TEXTS)
  .option('--json', 'show the room as JSON lines')
  .option('--time-limit <seconds>', 'give up after so long', Number, 600)
  .parse()
  .opts<{ input: string; json?: boolean; timeLimit: number }>();

const abort = new AbortController();
let stopped = false;
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.on(signal, () => {
    // Asked twice, it does not clean up any more.
    if (abort.signal.aborted) process.exit(code);
    stopped = true;
    abort.abort(new Error(`stopped by ${signal}`));
  });
}
const watchdog = setTimeout(
  () => abort.abort(new Error(`not done after ${options.timeLimit} s`)),
  options.timeLimit * 1_000,
);

let summary: Summary | undefined;
try {
  summary = await demo();
} catch (error) {
  console.error(`demo: ${error instanceof Error ? error.message : String(error)}`);
}
clearTimeout(watchdog);
const wrong = summary ? faults(summary) : [];
for (const fault of wrong) console.error(`demo: ${fault}`);
const code = summary && wrong.length === 0 ? 0 : 1;
// A call that still looks for a server that has died must not keep this process.
process.stdout.write(summary ? `${JSON.stringify(summary)}\n` : '', () => process.exit(code));

async function demo(): Promise<Summary> {
  const files = await textFiles(resolve(options.input));
  if (files.length < MIN_FILES)
    throw new Error(
      `${options.input} holds ${files.length} text files, the demo needs ${MIN_FILES}: give another folder with --input DIR`,
    );
  const room = `demo-${process.pid}-${Date.now().toString(36)}`;
  const folder = await mkdtemp(join(tmpdir(), 'synod-demo-'));
  const cleanUp: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  try {
    await mkdir(join(folder, 'results'));
    const services = await startServices((error) => abort.abort(error));
    cleanUp.unshift(() => services.stop());
    const store = new ResultStore(join(folder, 'results'));
    abort.signal.throwIfAborted();
    return await run(files, room, store, services.env, cleanUp).catch((error: unknown) => {
      if (!stopped) console.error(`demo: the worker said last:\n${services.tail()}`);
      throw error;
    });
  } finally {
    for (const step of cleanUp)
      await step().catch((error: unknown) => console.error(`demo: cleaning up: ${String(error)}`));
  }
}

async function run(
  files: Awaited<ReturnType<typeof textFiles>>,
  room: string,
  store: ResultStore,
  env: NodeJS.ProcessEnv,
  cleanUp: (() => Promise<unknown>)[],
): Promise<Summary> {
  const started = performance.now();
  const client = await connect({ address: env['TEMPORAL_ADDRESS'], namespace: env['TEMPORAL_NAMESPACE'] });
  cleanUp.unshift(() => client.connection.close());
  const producer = new Agent(client, 'producer');
  const format: ConsoleFormat = options.json ? 'json' : 'text';
  await until(producer.join(room, { kind: 'producer', purpose: `has ${files.length} files counted` }));
  const stopListening = producer.listen(room, (event) => console.log(consoleLine(event, format)), { after: 0 });
  cleanUp.unshift(() => Promise.resolve(stopListening()));

  const lateWrite = new AbortController();
  let sleepingOn: string | undefined;
  const fates = new Fates({ [DOOMED]: 'kill', [SLEEPY]: 'stop' }, AGENTS.length, files.length);
  const fate = async (agent: string, taskId: string, token: number): Promise<Fate> => {
    const met = await fates.at(agent, taskId, token, abort.signal);
    if (met === 'kill') tell(`${agent} is killed while it holds ${taskId}, token ${token}`);
    if (met === 'stop') {
      sleepingOn = taskId;
      tell(`${agent} is stopped while it holds ${taskId}, token ${token}`);
    }
    return met;
  };
  const onWrite = (agent: string, taskId: string, refused: string | undefined) => {
    if (refused !== undefined) tell(`the late write of ${agent} on ${taskId} is refused: ${refused}`);
    // Accepted or not: the summary tells which.
    if (agent === SLEEPY && taskId === sleepingOn) lateWrite.abort();
  };
  const onEnded = (agent: string, how: string) => abort.abort(new Error(`${agent} has ended by itself: ${how}`));
  const crew = new Crew({ room, env, store, fate, onWrite, onEnded });
  cleanUp.unshift(() => crew.end());
  for (const id of AGENTS) crew.start(id);

  const announced = await until(
    Promise.all(
      files.map(({ taskId, label, path }) =>
        producer.announce(room, {
          task_id: taskId,
          title: label,
          input: { path },
          lease_seconds: LEASE_SECONDS,
          claim_seconds: 20,
          linger_seconds: 1,
        }),
      ),
    ),
  );
  await until(
    Promise.all(
      announced.map(async ({ task_id, outcome }) => {
        await outcome(abort.signal);
        if (task_id !== sleepingOn) return;
        tell(`${SLEEPY} is woken: somebody else has done ${task_id} meanwhile`);
        crew.resume(SLEEPY);
      }),
    ),
  );
  if (sleepingOn !== undefined) await until(fired(lateWrite.signal));
  await crew.end();
  return await until(summarise(client, room, files, store, (performance.now() - started) / 1_000));
}

function tell(text: string): void {
  if (!options.json) console.log(`\n   >>  ${text}\n`);
}

/** What was hoped for, unless the demo is stopped first. */
async function until<T>(hoped: Promise<T>): Promise<T> {
  return await Promise.race([
    hoped,
    fired(abort.signal).then(() => {
      throw abort.signal.reason;
    }),
  ]);
}
