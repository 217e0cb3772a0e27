import { describe, expect, it } from 'vitest';
import { ChatError, type ChatAdapter, type ChatPace, type ChatPage } from './adapter.ts';
import { consoleAdapter } from './adapters/console.ts';
import { slackAdapter } from './adapters/slack.ts';
import { listen } from './listen.ts';

const one: ChatPage = { messages: [{ id: 'm', author: 'ann', text: 'hi' }], cursor: 'c' };
const none: ChatPage = { messages: [], cursor: 'c' };

/** Reads a chat that answers so, one read each, and returns the pauses after each. */
async function pausesOf(pace: ChatPace, answers: readonly (ChatPage | ChatError)[]): Promise<number[]> {
  const stop = new AbortController();
  const pauses: number[] = [];
  const left = [...answers];
  const adapter: ChatAdapter = {
    ...consoleAdapter(),
    pace,
    async readForward() {
      const next = left.shift() ?? none;
      if (next instanceof ChatError) throw next;
      return next;
    },
  };
  const sleep = async (ms: number) => {
    pauses.push(ms);
    if (left.length === 0) stop.abort();
  };
  const ledger = { renew: () => Promise.resolve() };
  const receive = () => Promise.resolve();
  await listen({ adapter, ledger, receive, sleep, from: 'c', stop: stop.signal }, new AbortController());
  return pauses;
}

describe('reading a chat', () => {
  it('reads less and less often while nobody writes, and often again once somebody does', async () => {
    const pace = { busy: 300, quiet: 5_000 };
    expect(await pausesOf(pace, [one, none, none, none, none, none, one, none])).toEqual([
      300, 1_000, 2_000, 4_000, 5_000, 5_000, 300, 1_000,
    ]);
  });

  it('never reads more often than the service lets it', async () => {
    expect(await pausesOf({ busy: 1_500, quiet: 2_000 }, [one, none, none])).toEqual([1_500, 1_500, 2_000]);
    expect(await pausesOf({ busy: 0, quiet: 500 }, [none])).toEqual([500]);
  });

  it('waits as long as the service asks for where it was too often all the same', async () => {
    const [ms = 0] = await pausesOf({ busy: 0, quiet: 500 }, [
      new ChatError('rate-limited', 'later', { retryAfterMs: 60_000 }),
    ]);
    expect(ms).toBeGreaterThanOrEqual(60_000);
  });

  it('stays below the fifty reads a minute that Slack lets everybody take', async () => {
    const { pace } = await slackAdapter({ channel: 'C0123456789', token: 'x' });
    const pauses = await pausesOf(
      pace,
      Array.from({ length: 20 }, () => one),
    );
    expect(pauses).toHaveLength(20);
    for (const ms of pauses) expect(ms).toBeGreaterThan(60_000 / 50);
  });
});
