// A candidate in a process of its own, to be killed: `tsx coordinator.main.ts ADDRESS ROOM AGENT HEARTBEAT_SECONDS`.
// Says "stands", and directs once in each epoch that it leads.
import { Agent, connect } from '../../src/client/index.ts';

const [address, room, agent, heartbeat] = process.argv.slice(2);
if (address === undefined || room === undefined || agent === undefined || heartbeat === undefined)
  throw new Error('usage: coordinator.main.ts ADDRESS ROOM AGENT HEARTBEAT_SECONDS');
const client = await connect({ address });
console.log('stands');
await new Agent(client, agent).room(room).coordinate(
  'main',
  async ({ epoch, signal, directive }) => {
    await directive({ by: agent });
    console.log(`leads ${epoch}`);
    if (!signal.aborted)
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  },
  { heartbeatSeconds: Number(heartbeat) },
);
