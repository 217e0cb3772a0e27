/** One agent of the second act, as a process of its own: it works for the room that its arguments name until it is told to stop. */
import { z } from 'zod';
import { Agent, connect } from '../../src/client/index.ts';
import { textFiles } from './files.ts';
import { pieces } from './report.ts';
import { study } from './study.ts';
import { Talk, untilDismissed } from './talk.ts';

const [id = 'agent', room = 'demo', root = '.'] = process.argv.slice(2);
const input = z.object({ path: z.string() });
const talk = new Talk();
const stop = untilDismissed();

const files = await textFiles(root);
const client = await connect();
const agent = new Agent(client, id);
await agent.join(room, { kind: 'worker', purpose: 'studies files' });
await agent.work(
  room,
  async ({ task_id: taskId, title, input: given, token }) => {
    await talk.ask({ ask: `begin ${taskId} ${token}`, kind: 'begin', taskId, token });
    const found = await study(input.parse(given).path, files);
    // A process that was stopped goes on here as if nothing had happened: its lease may be over, and only the store can tell.
    const part = pieces(title, id, found).join('');
    await talk.ask({
      ask: `write ${taskId} ${token}`,
      kind: 'write',
      submission: { taskId, token, agent: id, result: { ...found }, part },
    });
    return { words: found.words, sha256: found.sha256, nearest: found.nearest };
  },
  { signal: stop, claimJitterSeconds: 0.1 },
);
await client.connection.close();
process.disconnect?.();
