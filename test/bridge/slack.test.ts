import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChatAdapter } from '../../src/bridge/adapter.ts';
import { slackAdapter } from '../../src/bridge/adapters/slack.ts';
import { adapterConformance, ofService } from './conformance.ts';
import type { FakeSlack } from './fakes/slack.ts';
import { services } from './services.ts';

const ANN = services.slack.another;

adapterConformance({
  ...ofService(services.slack),
  dedupes: false,
  keepsKeys: true,
  markup: [
    '*bold* _it_ ~gone~ `code` > quote',
    '> quote\n<b>&amp;</b> &lt; <https://b.example|a bank>',
    '<!channel> <!here> <@U0ANN000001> <!subteam^S1> @channel @everyone',
    '```js\nlet a = 1 && 2;\n```',
  ],
});

describe('the adapter of Slack beyond that', () => {
  let chat: FakeSlack;
  let adapter: ChatAdapter;
  beforeEach(async () => {
    chat = await services.slack.start();
    adapter = await services.slack.at(chat.url);
  });
  afterEach(() => chat.stop());

  const texts = async (cursor: string) => (await adapter.readForward(cursor)).messages.map(({ text }) => text);

  it('asks for no markup, no names and no previews, and sends the key as metadata', async () => {
    await adapter.post('k-1', 'see https://example.org');
    expect(chat.asked).toEqual([
      {
        channel: chat.channel,
        text: 'see https://example.org',
        mrkdwn: 'false',
        parse: 'none',
        link_names: 'false',
        unfurl_links: 'false',
        unfurl_media: 'false',
        metadata: '{"event_type":"synod_post","event_payload":{"key":"k-1"}}',
      },
    ]);
  });

  it('does not send what Slack would cut or split', async () => {
    await expect(adapter.post('k-1', 'x'.repeat(4_001))).rejects.toThrow('4000 characters, not 4001');
    expect(chat.attempts).toBe(0);
  });

  it('gives back what a person has typed, not what Slack makes of it', async () => {
    const { cursor } = await adapter.readForward(undefined);
    chat.says(ANN, '!release <l-1> a & b');
    chat.event({
      user: ANN,
      text: '<http://example.org|example.org> <https://b.example> <mailto:a@b.example|a@b.example>',
    });
    chat.event({ user: ANN, text: '<https://evil.example|the bank> <@U1> <!channel> <#C1|general> &amp;lt;' });
    expect(await texts(cursor)).toEqual([
      '!release <l-1> a & b',
      'example.org https://b.example a@b.example',
      'the bank (https://evil.example) @U1 @channel #general &lt;',
    ]);
  });

  it('leaves out notices, edits, Slackbot and pictures without text', async () => {
    const { cursor } = await adapter.readForward(undefined);
    chat.event({ user: ANN, subtype: 'channel_join', text: 'has joined' });
    chat.event({ user: ANN, subtype: 'message_changed', text: 'no' });
    chat.event({ subtype: 'bot_message', bot_id: 'B1', text: 'no' });
    chat.event({ user: 'USLACKBOT', text: 'no' });
    chat.event({ user: ANN, subtype: 'file_share', text: '' });
    chat.event({ user: ANN, subtype: 'file_share', text: 'look' });
    expect(await texts(cursor)).toEqual(['look']);
  });

  it('reads an answer in an old thread, once, even where it is shown in the channel as well', async () => {
    const root = chat.says(ANN, 'root');
    for (let i = 0; i < 20; i++) chat.says(ANN, `line ${i}`);
    let { cursor } = await adapter.readForward(undefined);
    chat.says(ANN, 'in the thread', root);
    chat.says(ANN, 'between');
    const both = { user: ANN, thread_ts: root, subtype: 'thread_broadcast', text: 'in both' };
    chat.event(both);
    const first = await adapter.readForward(cursor);
    expect(first.messages.map(({ text, thread }) => [text, thread])).toEqual([
      ['in the thread', root],
      ['between', undefined],
      ['in both', root],
    ]);
    cursor = first.cursor;
    expect((await adapter.readForward(cursor)).messages).toEqual([]);
    await adapter.post('k-1', 'answer of the bridge', { thread: root });
    expect((await adapter.readForward(cursor)).messages).toEqual([]);
  });

  it('loses and repeats nothing of what is written while it reads', async () => {
    const root = chat.says(ANN, 'root');
    const { cursor } = await adapter.readForward(undefined);
    chat.says(ANN, 'one', root);
    chat.meanwhile.set('conversations.replies', () => {
      chat.says(ANN, 'two');
      chat.says(ANN, 'three', root);
    });
    const first = await adapter.readForward(cursor);
    expect(first.messages.map(({ text }) => text)).toEqual(['one']);
    expect(await texts(first.cursor)).toEqual(['two', 'three']);
  });

  it('reads on where a thread is deleted while it reads', async () => {
    const root = chat.says(ANN, 'root');
    const { cursor } = await adapter.readForward(undefined);
    chat.says(ANN, 'one', root);
    chat.says(ANN, 'two');
    chat.meanwhile.set('conversations.replies', () => chat.remove(root));
    expect(await texts(cursor)).toEqual(['two']);
  });

  it('asks once a poll where nothing is new', async () => {
    const root = chat.says(ANN, 'root');
    chat.says(ANN, 'in the thread', root);
    const { cursor } = await adapter.readForward(undefined);
    chat.calls.length = 0;
    expect(await texts(cursor)).toEqual([]);
    expect(chat.calls).toEqual(['conversations.history']);
  });

  it('copes with the short pages that some apps are given', async () => {
    chat.maxPage = 15;
    const { cursor } = await adapter.readForward(undefined);
    const said = Array.from({ length: 70 }, (_, i) => `line ${i}`);
    for (const text of said) chat.says(ANN, text);
    expect(await texts(cursor)).toEqual(said);
    chat.faults.push({ kind: 'drop', taken: true });
    await expect(adapter.post('k-1', 'hello')).rejects.toMatchObject({ fault: 'ambiguous' });
    for (const text of said) chat.says(ANN, text);
    expect(await adapter.readBack('k-1', { text: 'hello' })).toEqual({ id: chat.posts[70]?.id });
    expect(await adapter.readBack('k-2', { text: 'hello' })).toBe('absent');
  });

  it('reads back what Slack says has failed, and may have been taken', async () => {
    chat.failure = 'internal_error';
    await expect(adapter.post('k-1', 'hello')).rejects.toMatchObject({ fault: 'ambiguous' });
    expect(await adapter.readBack('k-1', { text: 'hello' })).toEqual({ id: chat.posts[0]?.id });
  });

  it('knows that nothing stands in a thread that is gone', async () => {
    const root = chat.says(ANN, 'root');
    chat.remove(root);
    expect(await adapter.readBack('k-1', { text: 'hello', thread: root })).toBe('absent');
  });

  it.each([
    ['msg_too_long', 'unacceptable'],
    ['ratelimited', 'rate-limited'],
    ['is_archived', 'refused'],
    ['token_revoked', 'refused'],
    ['<html>Bad gateway</html>', 'ambiguous'],
  ])('knows what %s means', async (failure, fault) => {
    chat.failure = failure;
    await expect(adapter.post('k-1', 'hello')).rejects.toMatchObject({ fault });
  });

  it('names the scope that the token lacks, and is refused for good', async () => {
    chat.scopes.delete('channels:history');
    const reading = adapter.readForward(undefined);
    await expect(reading).rejects.toMatchObject({ fault: 'refused' });
    await expect(reading).rejects.toThrow(
      'missing_scope to conversations.history, which needs the scope channels:history',
    );
    await adapter.post('k-1', 'hello');
    chat.scopes.delete('chat:write');
    await expect(adapter.post('k-1', 'hello')).rejects.toThrow('chat:write');
  });

  it('is refused for good at a channel that it was not invited to, or that is not there', async () => {
    chat.invited = false;
    await expect(adapter.post('k-1', 'hello')).rejects.toThrow('not_in_channel');
    const { url, token } = chat;
    const elsewhere = await slackAdapter({ url: `${url}/api`, token, channel: 'C0999999999' });
    await expect(elsewhere.post('k-1', 'hello')).rejects.toMatchObject({ fault: 'refused' });
    await expect(slackAdapter({ token, channel: '#general' })).rejects.toThrow('channel must be the id');
  });
});
