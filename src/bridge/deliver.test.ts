import { describe, expect, it } from 'vitest';
import type { DoubtfulPost } from '../envelope/bridge.ts';
import { ChatError, type ChatAdapter } from './adapter.ts';
import { deliver, pauseAfter, POSSIBLE_REPEAT, type DeliverOptions } from './deliver.ts';

const post: DoubtfulPost = { key: 'k1', text: 'hello', last: 1, part: 0, parts: 1, whole: 'w' };
const failing = (fault: ChatError['fault'], retryAfterMs?: number): ChatError =>
  new ChatError(fault, fault, { retryAfterMs });

type Outcome = ChatError | 'taken';

/** A chat whose answers are given in advance, and all that was asked of it. */
function scripted(posts: readonly Outcome[], found: readonly ('found' | 'absent' | 'unknown' | ChatError)[] = []) {
  const calls: string[] = [];
  const marked: string[] = [];
  const pauses: number[] = [];
  const answers = [...posts];
  const findings = [...found];
  const adapter: ChatAdapter = {
    name: 'scripted',
    target: 'x',
    limits: { characters: 100 },
    pace: { busy: 0, quiet: 0 },
    escape: (text) => text,
    identity: () => Promise.resolve('me'),
    post(key, text) {
      calls.push(`post ${key} ${text}`);
      const answer = answers.shift();
      return answer === 'taken'
        ? Promise.resolve({ id: '$1' })
        : Promise.reject(answer ?? new Error('unexpected post'));
    },
    readBack(key, { text }) {
      calls.push(`look ${key} ${text}`);
      const answer = findings.shift() ?? new Error('unexpected look');
      if (answer instanceof Error) return Promise.reject(answer);
      return Promise.resolve(answer === 'found' ? { id: '$0' } : answer);
    },
    readForward: () => Promise.reject(new Error('unexpected')),
  };
  const options: DeliverOptions = {
    adapter,
    recordMarked: ({ text }) => Promise.resolve(void marked.push(text)),
    mayPost: () => Promise.resolve(),
    sleep: (ms) => Promise.resolve(void pauses.push(ms)),
    lost: new AbortController().signal,
    onTrouble: () => undefined,
  };
  return { calls, marked, pauses, options };
}

const HELLO = 'post k1 hello';
const LOOK = 'look k1 hello';
const MARKED = `post k1 ${POSSIBLE_REPEAT}hello`;

describe('delivering a post', () => {
  it.each<[string, Parameters<typeof scripted>, readonly string[], string]>([
    ['posts once what is taken', [['taken']], [HELLO], '$1'],
    [
      'posts again what was not taken',
      [[failing('rate-limited', 10), failing('unavailable'), 'taken']],
      [HELLO, HELLO, HELLO],
      '$1',
    ],
    ['looks for what may have been taken, and finds it', [[failing('ambiguous')], ['found']], [HELLO, LOOK], '$0'],
    ['posts again what is not there', [[failing('ambiguous'), 'taken'], ['absent']], [HELLO, LOOK, HELLO], '$1'],
    ['marks what it cannot find out', [[failing('ambiguous'), 'taken'], ['unknown']], [HELLO, LOOK, MARKED], '$1'],
    [
      'looks again where looking fails',
      [[failing('ambiguous')], [failing('ambiguous'), failing('rate-limited', 5), 'found']],
      [HELLO, LOOK, LOOK, LOOK],
      '$0',
    ],
    [
      'marks once, and looks for what it has sent last',
      [
        [failing('ambiguous'), failing('ambiguous'), 'taken'],
        ['unknown', 'unknown'],
      ],
      [HELLO, LOOK, MARKED, `look k1 ${POSSIBLE_REPEAT}hello`, MARKED],
      '$1',
    ],
  ])('%s', async (_, script, calls, id) => {
    const chat = scripted(...script);
    expect(await deliver(post, false, chat.options)).toEqual({ outcome: 'posted', id });
    expect(chat.calls).toEqual(calls);
  });

  it('looks for the post first where an earlier bridge may have posted it', async () => {
    const found = scripted([], ['found']);
    expect(await deliver(post, true, found.options)).toEqual({ outcome: 'posted', id: '$0' });
    const absent = scripted(['taken'], ['absent']);
    await deliver(post, true, absent.options);
    expect(absent.calls).toEqual([LOOK, HELLO]);
  });

  it('writes down that it marks before it posts', async () => {
    const chat = scripted(['taken'], ['unknown']);
    await deliver(post, true, {
      ...chat.options,
      recordMarked: ({ text }) => Promise.resolve(void chat.calls.push(text)),
    });
    expect(chat.calls).toEqual([LOOK, `${POSSIBLE_REPEAT}hello`, MARKED]);
  });

  it('gives up a post that is not to the liking of the chat, and the bridge that is not', async () => {
    expect(await deliver(post, false, scripted([failing('unacceptable')]).options)).toEqual({ outcome: 'refused' });
    await expect(deliver(post, false, scripted([failing('refused')]).options)).rejects.toThrow('refused');
  });

  it('tries nothing when it may not post any more', async () => {
    const chat = scripted(['taken']);
    const lost = { ...chat.options, mayPost: () => Promise.reject(new Error('another posts')) };
    await expect(deliver(post, false, lost)).rejects.toThrow('another posts');
    expect(chat.calls).toEqual([]);
  });

  it('checks again that it may post after it has looked for the post', async () => {
    const chat = scripted(['taken'], ['absent']);
    let allowed = 1;
    const mayPost = () => (allowed-- > 0 ? Promise.resolve() : Promise.reject(new Error('another posts')));
    await expect(deliver(post, true, { ...chat.options, mayPost })).rejects.toThrow('another posts');
    expect(chat.calls).toEqual([LOOK]);
  });

  it('waits as long as the service asks for, else longer and longer, up to half a minute', () => {
    expect(pauseAfter(failing('rate-limited', 7_000), 9)).toBeGreaterThanOrEqual(7_000);
    expect(pauseAfter(failing('rate-limited', 7_000), 9)).toBeLessThan(7_200);
    for (const [failures, base] of [
      [0, 500],
      [3, 4_000],
      [20, 30_000],
    ] as const) {
      const pause = pauseAfter(failing('unavailable'), failures);
      expect(pause).toBeGreaterThanOrEqual(base / 2);
      expect(pause).toBeLessThanOrEqual(base * 1.5);
    }
  });
});
