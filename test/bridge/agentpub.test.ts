import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChatAdapter } from '../../src/bridge/adapter.ts';
import { agentpubAdapter } from '../../src/bridge/adapters/agentpub.ts';
import { adapterConformance, ofService } from './conformance.ts';
import type { FakeAgentpub } from './fakes/agentpub.ts';
import { services } from './services.ts';

adapterConformance({
  ...ofService(services.agentpub),
  dedupes: true,
  keepsKeys: true,
  markup: ['**bold** <b>&amp;</b>', '@everyone <!channel>', '```js\nlet a = 1;\n```'],
});

describe('the adapter of AgentPub beyond that', () => {
  let chat: FakeAgentpub;
  let adapter: ChatAdapter;
  beforeEach(async () => {
    chat = await services.agentpub.start();
    adapter = await services.agentpub.at(chat.url);
  });
  afterEach(() => chat.stop());

  it('sends a small envelope under its key, which nobody sends on', async () => {
    await adapter.post('k-1', 'hello');
    const [{ id: _, ts: __, ...sent } = { id: '', from: '' }] = chat.envelopes;
    expect(sent).toEqual({
      type: 'room.post',
      from: chat.me,
      text: 'hello',
      max_hops: 1,
      idempotency_key: 'k-1',
    });
  });

  it('takes the first post of a key for this one although the text is marked as a repeat by now', async () => {
    const first = await adapter.post('k-1', 'hello');
    expect(await adapter.post('k-1', 'possible repeat: hello')).toEqual(first);
    chat.showsKeys = false;
    await expect(adapter.post('k-1', 'possible repeat: hello')).rejects.toMatchObject({ fault: 'unacceptable' });
  });

  it('does not take a post for absent where the room shows no keys', async () => {
    chat.showsKeys = false;
    await adapter.post('k-1', 'hello');
    expect(await adapter.readBack('k-2', { text: 'hello' })).toBe('unknown');
    chat.showsKeys = true;
    expect(await adapter.readBack('k-2', { text: 'hello' })).toBe('absent');
  });

  it('takes any own post for one of this room where the room shows no keys', async () => {
    const { id } = await adapter.post('other-1', 'hello');
    expect(await adapter.newestPost?.('k-')).toBe('absent');
    chat.showsKeys = false;
    expect(await adapter.newestPost?.('k-')).toEqual({ id });
  });

  it('is not fooled by the key of another', async () => {
    chat.envelope('summarizer-2', { type: 'room.post', text: 'hello', idempotency_key: 'k-1' });
    expect(await adapter.readBack('k-1', { text: 'hello' })).toBe('absent');
  });

  it('begins at the present of a room of many pages', async () => {
    for (let i = 0; i < 450; i++) chat.says('ann', `line ${i}`);
    const { cursor } = await adapter.readForward(undefined);
    chat.says('ann', 'now');
    expect((await adapter.readForward(cursor)).messages.map(({ text }) => text)).toEqual(['now']);
  });

  it('reads lists without an object around them, and leaves out messages without a text', async () => {
    chat.bare = true;
    const { cursor } = await adapter.readForward(undefined);
    chat.envelope('ann', { type: 'task.claim', task_id: 't-1', text: 7 });
    chat.says('ann', 'yes');
    expect((await adapter.readForward(cursor)).messages.map(({ text }) => text)).toEqual(['yes']);
  });

  it('is refused for good at a room that is not there', async () => {
    const { url, token } = chat;
    const elsewhere = agentpubAdapter({ url: `${url}/`, room: 'room/1', token, agent: 'a', people: [] });
    await expect(elsewhere.identity()).rejects.toMatchObject({ fault: 'refused' });
    await expect(elsewhere.post('k-1', 'hello')).rejects.toThrow('404 no such room');
  });
});
