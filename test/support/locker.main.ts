// Agents in a process of their own that take one lock: `tsx locker.main.ts ADDRESS ROOM NAME AGENTS RESOURCE OPTIONS`.
// Says "asks" once all ask, "served [[AGENT, TOKEN], …]" when all have had their turn; with `hold: true` in the options,
// "holds TOKEN" for each that has got it and holds it to its end; with `guard: PORT`, it writes through the guard again and again.
import { z } from 'zod';
import { Agent, connect } from '../../src/client/index.ts';
import { writeOn } from './guard.ts';

const given = z.object({
  leaseSeconds: z.number().optional(),
  waitSeconds: z.number().default(300),
  hold: z.boolean().default(false),
  guard: z.number().optional(),
});

const [address, room, name, agents, resource, raw] = process.argv.slice(2);
if (address === undefined || room === undefined || name === undefined || resource === undefined || raw === undefined)
  throw new Error('usage: locker.main.ts ADDRESS ROOM NAME AGENTS RESOURCE OPTIONS');
const { hold, guard, leaseSeconds, waitSeconds } = given.parse(JSON.parse(raw));
const options = { type: 'exclusive', waitSeconds, ...(leaseSeconds === undefined ? {} : { leaseSeconds }) } as const;
const client = await connect({ address });

if (guard !== undefined) {
  console.log('asks');
  await writeOn(new Agent(client, name).room(room), resource, options, guard);
}
const served: [string, number][] = [];
const all = Array.from({ length: Number(agents) }, async (_, i) => {
  const agent = `${name}-${i}`;
  await new Agent(client, agent).room(room).lock([resource], options, async ({ tokens }) => {
    const token = tokens[resource];
    if (token === undefined) throw new Error(`${agent} has no token`);
    served.push([agent, token]);
    if (!hold) return;
    console.log(`holds ${token}`);
    await new Promise(() => setInterval(() => undefined, 60_000));
  });
});
console.log('asks');
await Promise.all(all);
console.log(`served ${JSON.stringify(served)}`);
process.exit(0);
