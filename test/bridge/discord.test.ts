import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChatAdapter } from '../../src/bridge/adapter.ts';
import { discordAdapter } from '../../src/bridge/adapters/discord.ts';
import { adapterConformance, ofService } from './conformance.ts';
import { shown, type FakeDiscord } from './fakes/discord.ts';
import { services } from './services.ts';

const ANN = services.discord.another;

const markup = [
  '**bold** _it_ __under__ ~~gone~~ ||hidden|| `code` \\ back',
  '# title\n- item\n* item\n+ item\n1. one\n> quote\n-# small\n## two',
  '[a bank](https://b.example/x_y_z) and https://c.example/a_b_c*d*',
  '@everyone <@998877665544332211> <@&5> <#6> <t:1:R> <:smile:7>',
  '```js\nlet a_b_c = 1; // **not** bold\n```\n*after*',
  'an open fence ``` *a*',
  'task_id snake_case_name 3.5',
];

adapterConformance({
  ...ofService(services.discord),
  dedupes: true,
  keepsKeys: false,
  markup,
});

describe('the adapter of Discord beyond that', () => {
  let chat: FakeDiscord;
  let adapter: ChatAdapter;
  beforeEach(async () => {
    chat = await services.discord.start();
    adapter = await services.discord.at(chat.url);
  });
  afterEach(() => chat.stop());

  const key = (name: string) => name.padEnd(43, '-');

  it('asks for no pings, no previews and one message a nonce', async () => {
    await adapter.post(key('a'), 'see https://example.org');
    expect(chat.created).toEqual([
      {
        content: 'see https://example.org',
        nonce: key('a').slice(0, 25),
        enforce_nonce: true,
        allowed_mentions: { parse: [], replied_user: false },
        flags: 4,
      },
    ]);
  });

  it('shows every text as it is', () => {
    const bits = [
      '*',
      '_',
      '`',
      '~',
      '|',
      '>',
      '#',
      '-',
      '+',
      '[',
      ']',
      '(',
      ')',
      '<',
      '@',
      ':',
      '\\',
      '1',
      '.',
      'a',
      ' ',
    ];
    const unit = fc.constantFrom(...bits, '\n', '```', 'https://x.example/a_b', '日', '👩‍👧');
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 30 }), (text) => {
        expect(shown(adapter.escape(text))).toBe(text);
      }),
      { numRuns: 2_000 },
    );
  });

  it('returns the first message of a nonce although the text is marked as a repeat by now', async () => {
    const first = await adapter.post(key('a'), 'hello');
    expect(await adapter.post(key('a'), 'possible repeat: hello')).toEqual(first);
    chat.forgetNonces();
    expect(await adapter.post(key('a'), 'possible repeat: hello')).not.toEqual(first);
  });

  it('finds nothing out about a post of another process without the post before it', async () => {
    await adapter.post(key('a'), 'hello');
    expect(await (await services.discord.at(chat.url)).readBack(key('b'), { text: 'hello' })).toBe('unknown');
  });

  it('reads back over many pages, past the messages of others', async () => {
    const { id: after } = await adapter.post(key('a'), 'before');
    for (let i = 0; i < 150; i++) chat.says(ANN, 'hello');
    chat.botSays('hello');
    chat.faults.push({ kind: 'drop', taken: true });
    await expect(adapter.post(key('b'), ' hello\n')).rejects.toMatchObject({ fault: 'ambiguous' });
    expect(await adapter.readBack(key('b'), { text: ' hello\n', after })).toEqual({ id: chat.posts.at(-1)?.id });
  });

  it('does not take an empty channel for an answer where it may not read the history', async () => {
    const { id: after } = await adapter.post(key('a'), 'before');
    chat.faults.push({ kind: 'drop', taken: true });
    await expect(adapter.post(key('b'), 'hello')).rejects.toMatchObject({ fault: 'ambiguous' });
    chat.permissions.delete('READ_MESSAGE_HISTORY');
    expect(await adapter.readBack(key('b'), { text: 'hello', after })).toBe('unknown');
  });

  it('does not take an empty channel for one without posts where it may not read the history', async () => {
    await adapter.post(key('a'), 'hello');
    chat.permissions.delete('READ_MESSAGE_HISTORY');
    expect(await adapter.newestPost?.('')).toBe('unknown');
  });

  it('knows a reply in doubt from a post of the same text', async () => {
    const question = chat.says(ANN, 'who?');
    const { id: after } = await adapter.post(key('a'), 'before');
    await adapter.post(key('b'), 'nobody', { thread: question });
    expect(await adapter.readBack(key('c'), { text: 'nobody', after })).toBe('absent');
  });

  it('leaves out webhooks, notices and pictures without text', async () => {
    const { cursor } = await adapter.readForward(undefined);
    chat.event({ content: 'deployed', webhook_id: '5' });
    chat.event({ type: 7, content: 'joined' });
    chat.event({});
    chat.says(ANN, 'yes');
    expect((await adapter.readForward(cursor)).messages.map(({ text }) => text)).toEqual(['yes']);
  });

  it('fails at once when a bucket is empty, without a call', async () => {
    chat.remaining = 2;
    await adapter.post(key('a'), 'one');
    await adapter.post(key('b'), 'two');
    const error = await adapter.post(key('c'), 'three').catch((e: unknown) => e);
    expect(error).toMatchObject({ fault: 'rate-limited' });
    expect(error).toHaveProperty('retryAfterMs', expect.closeTo(60_000, -4));
    expect(chat.attempts).toBe(2);
  });

  it('holds back everything after a limit that is for the whole bot', async () => {
    chat.global = true;
    chat.faults.push({ kind: 'rate-limited', retryAfterMs: 60_000 });
    await expect(adapter.post(key('a'), 'one')).rejects.toThrow('all calls of this bot');
    await expect(adapter.readForward('0')).rejects.toMatchObject({ fault: 'rate-limited' });
  });

  it('works on after a token was refused and set right', async () => {
    chat.token = 'another-token';
    await expect(adapter.post(key('a'), 'one')).rejects.toThrow('401');
    chat.token = 'a-token';
    await adapter.post(key('a'), 'one');
  });

  it.each([
    ['SEND_MESSAGES', '403 50013'],
    ['VIEW_CHANNEL', '403 50001'],
  ])('is refused for good without the permission %s', async (permission, said) => {
    chat.permissions.delete(permission);
    const posting = adapter.post(key('a'), 'one');
    await expect(posting).rejects.toMatchObject({ fault: 'refused' });
    await expect(posting).rejects.toThrow(said);
  });

  it('is refused for good at a channel that is not there, and at what is no id', async () => {
    const { url, token } = chat;
    const elsewhere = await discordAdapter({ url: `${url}/api/`, token, channel: '112233445566778800' });
    await expect(elsewhere.readForward(undefined)).rejects.toMatchObject({ fault: 'refused' });
    await expect(elsewhere.post(key('a'), 'one')).rejects.toThrow('404 10003 Unknown Channel');
    await expect(discordAdapter({ token, channel: '#general' })).rejects.toThrow('channel must be the id');
  });

  it('goes on after a post that the moderation of the server blocks, and after an empty one', async () => {
    chat.blocked = 'darn';
    await expect(adapter.post(key('a'), 'darn it')).rejects.toMatchObject({ fault: 'unacceptable' });
    await expect(adapter.post(key('b'), ' \n ')).rejects.toMatchObject({ fault: 'unacceptable' });
    await expect(adapter.post(key('c'), 'x'.repeat(2_001))).rejects.toThrow('Must be 2000 or fewer');
    await adapter.post(key('d'), 'fine');
  });

  it('answers a question that was deleted meanwhile', async () => {
    await adapter.post(key('a'), 'nobody', { thread: '1300000000000000001' });
    expect(chat.posts.at(-1)).toMatchObject({ text: 'nobody' });
    expect(chat.posts.at(-1)).not.toHaveProperty('thread');
  });
});
