import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { Agent } from './agent.ts';
import { standInHub, type StandIn } from './hub.fixture.ts';

const call = z.object({ messages: z.array(z.object({ id: z.string(), from: z.string() })) });

/** A stand-in for a hub: accepts everything, and notes how many requests were under way at once, and how large they were. */
const seen = { now: 0, most: 0, sizes: new Array<number>() };
let hub: StandIn;

beforeAll(async () => {
  hub = await standInHub((_path, body, response) => {
    seen.now += 1;
    seen.most = Math.max(seen.most, seen.now);
    const { messages } = call.parse(body);
    seen.sizes.push(messages.length);
    const replies = messages.map(({ id, from }) => [
      { type: 'room.accepted', id: `r-${id}`, from: 'synod', to: from, ts: '', in_reply_to: id },
    ]);
    setImmediate(() => {
      seen.now -= 1;
      response.end(JSON.stringify({ replies }));
    });
  });
});
afterAll(async () => await hub.stop());

it('keeps one request in flight a workflow, with all that was sent in one turn of the event loop', async () => {
  const agents = Array.from({ length: 8 }, (_, i) => new Agent(hub.client, `agent-${i}`));
  await Promise.all(
    agents.map(async (agent) => {
      for (let i = 0; i < 5; i++) await agent.post('lab', `n ${i}`);
    }),
  );
  expect(seen.most).toBe(1);
  expect(seen.sizes).toEqual([8, 8, 8, 8, 8]);
});
