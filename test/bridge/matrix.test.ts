import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { matrixAdapter } from '../../src/bridge/adapters/matrix.ts';
import { adapterConformance, ofService } from './conformance.ts';
import type { FakeMatrix } from './fakes/matrix.ts';
import { services } from './services.ts';

adapterConformance({
  ...ofService(services.matrix),
  dedupes: true,
  keepsKeys: true,
  markup: ['**bold** _it_ `code` <b>&amp;</b> [a](http://b)', '@room @ann:example.org', '```js\nlet a = 1;\n```'],
});

describe('the adapter of Matrix beyond that', () => {
  let chat: FakeMatrix;
  beforeEach(async () => void (chat = await services.matrix.start()));
  afterEach(() => chat.stop());

  it('leaves out edits, pictures and other events', async () => {
    const adapter = await services.matrix.at(chat.url);
    const { cursor } = await adapter.readForward(undefined);
    const edited = { msgtype: 'm.text', body: '* no', 'm.relates_to': { rel_type: 'm.replace', event_id: '$1' } };
    chat.event('@ann:example.org', edited);
    chat.event('@ann:example.org', { msgtype: 'm.image', body: 'cat.png', url: 'mxc://example.org/cat' });
    chat.event('@ann:example.org', { membership: 'join' }, 'm.room.member');
    chat.says('@ann:example.org', 'yes');
    expect((await adapter.readForward(cursor)).messages.map(({ text }) => text)).toEqual(['yes']);
  });

  it('fetches what a limited timeline leaves out', async () => {
    chat.maxTimeline = 3;
    const adapter = await services.matrix.at(chat.url);
    const { cursor } = await adapter.readForward(undefined);
    for (let i = 0; i < 250; i++) chat.says('@ann:example.org', `${i}`);
    const { messages } = await adapter.readForward(cursor);
    expect(messages.map(({ text }) => text)).toEqual(Array.from({ length: 250 }, (_, i) => `${i}`));
  });

  it('works under a base path of the homeserver, and names a room that it may not enter', async () => {
    const elsewhere = matrixAdapter({ url: chat.url, room: '!other:example.org', token: chat.token });
    await expect(elsewhere.post('k', 'x')).rejects.toMatchObject({ fault: 'refused' });
    await expect(elsewhere.post('k', 'x')).rejects.toThrow('403 M_FORBIDDEN');
  });
});
