/** One agent of the second act, as a process of its own: it works in the room that its arguments name until it is ended. */
import { z } from 'zod';
import { Agent, connect } from '../../src/client/index.ts';
import { textFiles } from './files.ts';
import { REPORT } from './guarded.ts';
import { lead } from './lead.ts';
import { pieces, readReport } from './report.ts';
import { study } from './study.ts';
import { ParentChannel, stopSignal } from './parentChannel.ts';

/** Short, so that the others need not wait long for a lost writer. */
const LOCK_LEASE_SECONDS = 3;
const HEARTBEAT_SECONDS = 1;

const [id = 'agent', room = 'demo', root = '.', report = ''] = process.argv.slice(2);
const input = z.object({ path: z.string() });
const channel = new ParentChannel();
const stop = stopSignal();

const files = await textFiles(root);
const client = await connect();
const agent = new Agent(client, id);
const place = agent.room(room);
await agent.join(room, { kind: 'worker', purpose: 'studies files' });
const leading = place.coordinate('main', async (leadership) => await lead(leadership, agent, client, files, channel), {
  heartbeatSeconds: HEARTBEAT_SECONDS,
  signal: stop,
});
// The aggregator waits at a barrier: every agent that receives its opening checks in.
const unlisten = agent.listen(room, ({ envelope: { type, phase } }) => {
  if (type === 'barrier.open' && typeof phase === 'string')
    void place.barrier(phase, {}, stop).catch((error: unknown) => stop.aborted || console.error(String(error)));
});
const abstain = place.onProposal(async () => {
  const { whole, torn } = readReport(report);
  const good = torn === 0 && files.every(({ label }) => whole.get(label) === 1);
  return good ? { choice: 'yes' } : { choice: 'no', reason: `${whole.size} of ${files.length} parts are whole` };
});
await agent.work(
  room,
  async ({ taskId, title, input: given, token }) => {
    await channel.ask({ ask: `begin ${taskId} ${token}`, kind: 'begin', taskId, token });
    const found = await study(input.parse(given).path, files);
    // A process that was stopped goes on in here as if nothing had happened: its lock and its lease may be over, and only the store can check that.
    await place.lock([REPORT], { type: 'exclusive', leaseSeconds: LOCK_LEASE_SECONDS }, async ({ tokens }) => {
      const parts = pieces(title, id, found);
      for (const [i, text] of parts.entries()) {
        const place = i === 0 ? 'first' : i === parts.length - 1 ? 'last' : 'middle';
        const piece = { taskId, token, lockToken: tokens[REPORT], place, text };
        const ask = `write ${taskId} ${token} ${i}`;
        if (place !== 'last') await channel.ask({ ask, kind: 'add', piece });
        else await channel.ask({ ask, kind: 'write', submission: { ...piece, agent: id, result: { ...found } } });
      }
    });
    return { words: found.words, sha256: found.sha256, nearest: found.nearest };
  },
  { signal: stop, claimJitterSeconds: 0.1 },
);
unlisten();
abstain();
await leading;
await client.connection.close();
process.disconnect?.();
