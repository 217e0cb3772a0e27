// `npm run chaos`: storms of signals, each accounted for from the histories, and a file that paused processes write under a lock. The last
// line is a summary in JSON.
import { parseArgs } from 'node:util';
import type { Client } from '@temporalio/client';
import { messageOf } from '../../src/dev/log.ts';
import { guardedFile, type Guarded } from '../support/guarded.ts';
import { startStack } from '../support/stack.ts';
import { startWorkerProcess } from '../support/workerProcess.ts';
import { stormHeldTask, stormRoom, type Outcome } from './scenarios.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '20' },
    senders: { type: 'string', default: '50' },
    'guard-seconds': { type: 'string', default: '60' },
  },
});
const guardSeconds = Number(values['guard-seconds']);
const size = { seconds: Number(values.seconds), senders: Number(values.senders) };

// The worker has a process of its own: the senders must not take its event loop.
const stack = await startStack({ worker: null });
const outcomes: Record<string, Outcome | Guarded> = {};
const problems: string[] = [];
try {
  const clients = await Promise.all(Array.from({ length: 4 }, () => stack.connect()));
  const guardFile = async ([client]: readonly Client[], room: string): Promise<Guarded> =>
    await guardedFile(stack.server.address, client ?? stack.client, room, guardSeconds);
  const scenarios = { room: stormRoom, held_task: stormHeldTask, guarded_file: guardFile };
  for (const [name, scenario] of Object.entries(scenarios)) {
    const worker = await startWorkerProcess(stack.server.address);
    const died = worker.exited.then(({ code, signal }) => {
      throw new Error(
        `the worker ended (${signal ?? `exit code ${code}`}): ${
          worker
            .tail()
            .split('\n')
            .find((line) => /^\w*Error: /.test(line)) ?? 'it said nothing'
        }`,
      );
    });
    died.catch(() => {});
    try {
      const outcome = await Promise.race([scenario(clients, `chaos-${name.replaceAll('_', '-')}`, size), died]);
      outcomes[name] = outcome;
      problems.push(...outcome.problems.map((problem) => `${name}: ${problem}`));
      console.error(`${name}: ${JSON.stringify(outcome)}`);
    } catch (error) {
      problems.push(`${name}: ${messageOf(error)}`);
    } finally {
      await worker.stop();
    }
  }
} finally {
  await stack.stop();
}
for (const problem of problems) console.error(`failed: ${problem}`);
console.log(JSON.stringify({ ok: problems.length === 0, problems, ...size, ...outcomes }));
// A storm that gave up may have calls under way still.
process.exit(problems.length === 0 ? 0 : 1);
