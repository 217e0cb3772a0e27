import { describe, expect, it } from 'vitest';
import type { ChatAdapter } from '../../src/bridge/adapter.ts';
import { faultOf, newKey } from './asked.ts';
import type { AdapterSubject } from './conformance.ts';
import type { FakeChat } from './fakes/server.ts';
import { AMPLE_MS } from './services.ts';

/** What every adapter that can look for its own posts must find. */
export function newestPostConformance<Chat extends FakeChat>(
  subject: AdapterSubject<Chat>,
  at: () => { chat: Chat; adapter: ChatAdapter },
): void {
  describe('the newest post of the bot', () => {
    const keyed = (prefix: string): string => prefix + newKey().slice(prefix.length);
    const newest = async (prefix: string, from: ChatAdapter = at().adapter) => await from.newestPost?.(prefix);

    it('is known not to be there in a new chat, and in one where only others have written', async () => {
      const { chat } = at();
      expect(await newest('lab-----')).toBe('absent');
      chat.says(subject.person, 'hello');
      chat.botSays('hello');
      expect(await newest('lab-----')).toBe('absent');
    });

    it('is found past what others wrote since, also by another process', async () => {
      const { chat, adapter } = at();
      await adapter.post(keyed('lab-----'), 'one');
      const { id } = await adapter.post(keyed('lab-----'), 'two');
      for (let i = 0; i < 230; i++) chat.says(subject.person, `line ${i}`);
      expect(await newest('lab-----', await subject.adapter(chat, AMPLE_MS))).toEqual({ id });
    });

    it('is of this room, where the service keeps keys', async () => {
      const { adapter } = at();
      const { id } = await adapter.post(keyed('other---'), 'of another room');
      expect(await newest('lab-----')).toEqual(subject.keepsKeys ? 'absent' : { id });
    });

    it('fails like any call', async () => {
      const { chat } = at();
      await chat.down();
      expect(await faultOf(newest('lab-----'))).toMatchObject({ fault: 'unavailable' });
      await chat.up();
    });
  });
}
