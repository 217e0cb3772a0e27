import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { Agent } from './agent.ts';
import { disconnect } from './connect.ts';
import { Hub } from './hub.ts';

const call = z.object({ messages: z.array(z.object({ id: z.string(), from: z.string() })) });

/** Stands for a hub: accepts everything, and notes how many requests were under way at once, and how large they were. */
const seen = { now: 0, most: 0, sizes: new Array<number>() };
let server: Server;
let client: Client;

beforeAll(async () => {
  server = createServer((request, response) => {
    seen.now += 1;
    seen.most = Math.max(seen.most, seen.now);
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { messages } = call.parse(JSON.parse(body));
      seen.sizes.push(messages.length);
      const replies = messages.map(({ id, from }) => [
        { type: 'room.accepted', id: `r-${id}`, from: 'synod', to: from, ts: '', in_reply_to: id },
      ]);
      setImmediate(() => {
        seen.now -= 1;
        response.end(JSON.stringify({ replies }));
      });
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  client = new Client({ connection: Connection.lazy() });
  Hub.through(client, { url: `http://127.0.0.1:${address.port}`, token: 'any' });
});
afterAll(async () => {
  await disconnect(client);
  server.closeAllConnections();
  server.close();
});

it('keeps one request in flight a workflow, with all that was said in the same breath', async () => {
  const agents = Array.from({ length: 8 }, (_, i) => new Agent(client, `agent-${i}`));
  await Promise.all(
    agents.map(async (agent) => {
      for (let i = 0; i < 5; i++) await agent.post('lab', `n ${i}`);
    }),
  );
  expect(seen.most).toBe(1);
  expect(seen.sizes).toEqual([8, 8, 8, 8, 8]);
});
