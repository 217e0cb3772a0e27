// `npm run chaos`: storms of signals, each accounted for from the histories. The last line is a summary in JSON.
import { parseArgs } from 'node:util';
import { startStack } from '../support/stack.ts';
import { startWorkerProcess } from '../support/workerProcess.ts';
import { stormHeldTask, stormRoom } from './scenarios.ts';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '20' }, senders: { type: 'string', default: '50' } },
});
const size = { seconds: Number(values.seconds), senders: Number(values.senders) };

// The worker has a process of its own: the senders must not take its event loop.
const stack = await startStack({ worker: null });
const worker = await startWorkerProcess(stack.server.address);
try {
  const clients = await Promise.all(Array.from({ length: 4 }, () => stack.connect()));
  const room = await stormRoom(clients, 'storm-room', size);
  console.error(`room: ${JSON.stringify(room)}`);
  const task = await stormHeldTask(clients, 'storm-task', size);
  console.error(`held task: ${JSON.stringify(task)}`);
  const problems = [...room.problems, ...task.problems];
  if (problems.length > 0) process.exitCode = 1;
  console.log(JSON.stringify({ ok: problems.length === 0, problems, ...size, room, task }));
} finally {
  await worker.stop();
  await stack.stop();
}
