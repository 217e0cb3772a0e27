/** One agent of the demo, as a process of its own: it works for the room that its arguments name until it is told to stop. */
import { z } from 'zod';
import { Agent, connect } from '../../src/client/index.ts';
import { count } from './count.ts';
import type { FromAgent } from './crew.ts';

const [id = 'agent', room = 'demo'] = process.argv.slice(2);
const input = z.object({ path: z.string() });
const answer = z.object({ to: z.string(), error: z.string().optional() });
const waiting = new Map<string, (error: string | undefined) => void>();
const stop = new AbortController();

process.on('message', (message) => {
  const { to, error } = answer.parse(message);
  waiting.get(to)?.(error);
  waiting.delete(to);
});
process.once('SIGTERM', () => stop.abort());
// The terminal's Ctrl-C reaches every process; the parent decides when this one ends.
process.on('SIGINT', () => {});
process.once('disconnect', () => stop.abort());

/** Tells the parent something and waits for its answer; the folder of results is its to guard. */
async function ask(message: FromAgent): Promise<void> {
  const error = await new Promise<string | undefined>((resolve) => {
    waiting.set(message.ask, resolve);
    process.send?.(message);
  });
  if (error !== undefined) throw new Error(error);
}

const client = await connect();
const agent = new Agent(client, id);
await agent.join(room, { kind: 'worker', purpose: 'counts words' });
await agent.work(
  room,
  async (work) => {
    await ask({ ask: `begin ${work.task_id}`, kind: 'begin', taskId: work.task_id, token: work.token });
    const result = await count(input.parse(work.input).path);
    // A process that was stopped goes on here as if nothing had happened: its lease may be over, and only the store can tell.
    await ask({
      ask: `write ${work.task_id}`,
      kind: 'write',
      submission: { taskId: work.task_id, token: work.token, agent: id, result: { ...result } },
    });
    return { words: result.words, sha256: result.sha256 };
  },
  { signal: stop.signal, claimJitterSeconds: 0.1 },
);
await client.connection.close();
process.disconnect?.();
