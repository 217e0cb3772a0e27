/** The demo: agents share the work of a folder, one is killed, one is stopped past its lease, and nothing is done twice. */
import { once } from 'node:events';
import { mkdtemp, mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { consoleLine, type ConsoleFormat } from '../../src/bridge/console.ts';
import { Agent, connect } from '../../src/client/index.ts';
import { Crew, type Fate } from './crew.ts';
import { textFiles } from './files.ts';
import { startServices } from './services.ts';
import { ResultStore } from './store.ts';
import { faults, summarise } from './summary.ts';

const AGENTS = ['agent-1', 'agent-2', 'agent-3', 'agent-4'];
const DOOMED = 'agent-2';
const SLEEPY = 'agent-3';
/** Short, so that a lost task is soon handed on. */
const LEASE_SECONDS = 4;
/** Which of its tasks the agent meets its fate at. */
const FATEFUL_TASK = 3;
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
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => abort.abort(new Error(`stopped by ${signal}`)));
const watchdog = setTimeout(
  () => abort.abort(new Error(`not done after ${options.timeLimit} s`)),
  options.timeLimit * 1_000,
);

try {
  await demo();
} catch (error) {
  console.error(`demo: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  clearTimeout(watchdog);
}

async function demo(): Promise<void> {
  const files = await textFiles(resolve(options.input));
  if (files.length === 0)
    throw new Error(`there is no text file in ${options.input}: give another folder with --input DIR`);
  const room = `demo-${process.pid}-${Date.now().toString(36)}`;
  const folder = await mkdtemp(join(tmpdir(), 'synod-demo-'));
  const cleanUp: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  try {
    await mkdir(join(folder, 'results'));
    const services = await startServices(abort.signal);
    cleanUp.unshift(() => services.stop());
    const store = new ResultStore(join(folder, 'results'));
    await run(files, room, store, services.env, cleanUp);
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
): Promise<void> {
  const started = performance.now();
  const client = await connect({ address: env['TEMPORAL_ADDRESS'], namespace: env['TEMPORAL_NAMESPACE'] });
  cleanUp.unshift(() => client.connection.close());
  const producer = new Agent(client, 'producer');
  const format: ConsoleFormat = options.json ? 'json' : 'text';
  await producer.join(room, { kind: 'producer', purpose: `has ${files.length} files counted` });
  const stopListening = producer.listen(room, (event) => console.log(consoleLine(event, format)), { after: 0 });
  cleanUp.unshift(() => Promise.resolve(stopListening()));

  const lateWrite = new AbortController();
  const begun = new Map<string, number>();
  let sleepingOn: string | undefined;
  let killed = false;
  const fate = (agent: string, taskId: string, token: number): Fate => {
    begun.set(agent, (begun.get(agent) ?? 0) + 1);
    const due = (begun.get(agent) ?? 0) >= Math.min(FATEFUL_TASK, Math.ceil(files.length / 8));
    if (agent === DOOMED && due && !killed) {
      killed = true;
      tell(`${agent} is killed while it holds ${taskId}, token ${token}`);
      return 'kill';
    }
    if (agent === SLEEPY && due && sleepingOn === undefined) {
      sleepingOn = taskId;
      tell(`${agent} is stopped while it holds ${taskId}, token ${token}`);
      return 'stop';
    }
    return 'go on';
  };
  const onRefused = (agent: string, taskId: string, reason: string) => {
    tell(`the late write of ${agent} on ${taskId} is refused: ${reason}`);
    lateWrite.abort();
  };
  const crew = new Crew({ room, env, store, fate, onRefused });
  cleanUp.unshift(() => crew.end());
  for (const id of AGENTS) crew.start(id);

  const announced = await Promise.all(
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
  const summary = await until(summarise(client, room, files, store, (performance.now() - started) / 1_000));
  const wrong = faults(summary);
  for (const fault of wrong) console.error(`demo: ${fault}`);
  if (wrong.length > 0) process.exitCode = 1;
  process.once('exit', () => console.log(JSON.stringify(summary)));
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

async function fired(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
