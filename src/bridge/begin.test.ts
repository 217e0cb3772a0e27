import { describe, expect, it } from 'vitest';
import type { BridgePlace } from '../envelope/bridge.ts';
import { ChatError, type Found } from './adapter.ts';
import { consoleAdapter } from './adapters/console.ts';
import { begin } from './begin.ts';
import { keyPrefix, postKey } from './key.ts';
import type { LostLedger } from './options.ts';

const empty: BridgePlace = { after: 0, part: 0, whole: '' };
const doubt = { key: 'k', text: 't', last: 1, part: 0, parts: 1, whole: 'w' };

/** Begins at a chat that answers so, in a room of nine entries. */
async function begun(place: BridgePlace, answers: (Found | ChatError)[], lostLedger: LostLedger = 'mark') {
  const renewed: object[] = [];
  const asked: string[] = [];
  const notes: string[] = [];
  const result = await begin(place, {
    adapter: {
      ...consoleAdapter(),
      async newestPost(prefix) {
        asked.push(prefix);
        const answer = answers.shift() ?? 'unknown';
        if (answer instanceof ChatError) throw answer;
        return answer;
      },
    },
    ledger: { room: 'lab', chat: 'slack:C1', renew: async (news) => void renewed.push(news ?? {}) },
    lostLedger,
    head: async () => 9,
    note: (note) => notes.push(note),
    lost: new AbortController().signal,
    sleep: async () => undefined,
    onTrouble: ({ message }) => notes.push(message),
  });
  return { result, renewed, asked, notes };
}

describe('where a bridge begins', () => {
  it('is the start where the chat shows no post of this room', async () => {
    const { result, renewed, asked } = await begun(empty, ['absent']);
    expect([result, renewed, asked]).toEqual([empty, [], [keyPrefix('lab', 'slack:C1')]]);
    expect(postKey('lab', 'slack:C1', 1, 0, 'w').startsWith(asked[0] ?? '-')).toBe(true);
  });

  it.each<[string, Found, object]>([
    ['has a post', { id: 'p-7' }, { post_id: 'p-7' }],
    ['cannot say whether it has one', 'unknown', {}],
  ])('marks what may stand there already where the chat %s and the ledger has none', async (_, found, known) => {
    const { result, renewed, notes } = await begun(empty, [found]);
    expect(result).toEqual({ ...empty, doubtful_to: 9, ...known });
    expect(renewed).toEqual([{ doubtful_to: 9 }]);
    expect(notes.join()).toContain('entries up to 9 are marked as possible repeats');
  });

  it('passes over it where the operator says so, once', async () => {
    const { result, renewed } = await begun(empty, [{ id: 'p-7' }], 'skip');
    expect(result).toEqual({ ...empty, after: 9, doubtful_to: 9, post_id: 'p-7' });
    expect(renewed).toEqual([{ cursor: 9, doubtful_to: 9 }]);
    const { post_id: _, ...again } = result;
    expect((await begun(again, [{ id: 'p-7' }], 'skip')).asked).toEqual([]);
  });

  it.each<[string, BridgePlace]>([
    ['a post', { ...empty, post_id: 'p' }],
    ['a post in doubt', { ...empty, doubt }],
    ['a part of a text', { ...empty, part: 1, whole: 'w' }],
    ['what may stand there', { ...empty, doubtful_to: 3 }],
  ])('is where the ledger says, which has %s on record', async (_, place) => {
    expect(await begun(place, [{ id: 'p-7' }])).toMatchObject({ result: place, renewed: [], asked: [] });
  });

  it('waits for a chat that does not answer, and takes nothing for absent meanwhile', async () => {
    const { result, notes } = await begun(empty, [new ChatError('unavailable', 'down'), { id: 'p-7' }]);
    expect(result).toMatchObject({ doubtful_to: 9 });
    expect(notes[0]).toBe('down');
    await expect(begun(empty, [new ChatError('refused', 'no right to read')])).rejects.toThrow('no right to read');
  });
});
