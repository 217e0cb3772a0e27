import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { Agent } from '../agent.ts';
import { standInHub, type StandIn } from '../hub.fixture.ts';
import { HUB_PATHS } from '../transport/hubTransport.ts';

const request = z.object({ messages: z.array(z.object({ type: z.string(), id: z.string(), from: z.string() })) });

/** A stand-in for a hub: every workflow was started by a message that did not open it, and has ended after two requests. */
let hub: StandIn;
let sent: { type: string; id: string }[];
let stop: AbortController;

beforeEach(async () => {
  sent = [];
  stop = new AbortController();
  hub = await standInHub((path, call, response) => {
    if (path === HUB_PATHS.view) return response.end(JSON.stringify({ view: { status: 'unopened' } }));
    if (path !== HUB_PATHS.request) return response.flushHeaders();
    const replies = request.parse(call).messages.map(({ type, id, from }) => {
      sent.push({ type, id });
      const closed = sent.length <= 2;
      const answer = closed ? { type: 'error', code: 'closed', reason: 'never opened' } : { type: 'x.accepted' };
      return [{ ...answer, id: `r-${id}`, from: 'synod', to: from, ts: '', in_reply_to: id }];
    });
    response.end(JSON.stringify({ replies }));
  });
});
afterEach(async () => {
  stop.abort();
  await hub.stop();
});

const agent = () => new Agent(hub.client, 'ann');
it.each<[string, () => Promise<unknown>]>([
  ['task.announce', async () => await agent().announce('lab', { taskId: 't', title: 'to do' })],
  [
    'decision.propose',
    async () =>
      await agent()
        .room('lab')
        .decide({ question: 'go?', voters: ['ann'], quorum: 1, deadlineSeconds: 60 }, stop.signal),
  ],
  [
    'barrier.open',
    async () =>
      await agent()
        .room('lab')
        .barrier('p', { roster: ['bob'], timeoutSeconds: 60, fallback: 'fail' }, stop.signal),
  ],
])('sends %s again where a workflow was started unopened, until it opens it', async (type, open) => {
  const opened = open();
  opened.catch(() => undefined);
  await expect.poll(() => sent.length).toBe(3);
  expect(sent.map((one) => one.type)).toEqual([type, type, type]);
  // The same message each time.
  expect(new Set(sent.map(({ id }) => id)).size).toBe(1);
});

it('names a time to linger that is none', async () => {
  const announced = agent().announce('lab', { taskId: 't', title: 'to do', lingerSeconds: -1 });
  await expect(announced).rejects.toThrow('lingerSeconds must be a number of seconds >= 0');
  expect(sent).toEqual([]);
});
