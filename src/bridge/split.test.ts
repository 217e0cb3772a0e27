import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { split } from './split.ts';

const upTo =
  (limit: number) =>
  (text: string): boolean =>
    text.length <= limit;
const texts = (text: string, limit: number): string[] => split(text, upTo(limit)).map((part) => part.text);

/** Letters, words, lines, fences and emoji of several code points. */
const anyText = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }) },
      fc.constantFrom('```', '```js\n', '\n```\n', '\n', ' ', '👩‍👩‍👧‍👦', '🏳️‍🌈', 'é', '``', 'word '),
    ),
    { maxLength: 40 },
  )
  .map((parts) => parts.join(''));

describe('splitting', () => {
  it('leaves what fits as it is', () => {
    expect(texts('hello', 5)).toEqual(['hello']);
    expect(texts('', 5)).toEqual(['']);
  });

  it('prefers the end of a line, then of a word', () => {
    expect(texts('one two\nthree four', 12)).toEqual(['one two\n', 'three four']);
    expect(texts('one two three', 9)).toEqual(['one two ', 'three']);
    expect(texts('abcdefghij', 4)).toEqual(['abcd', 'efgh', 'ij']);
  });

  it('closes a code fence and opens it again', () => {
    expect(texts('see:\n```js\nlet a = 1;\nlet b = 2;\n```\ndone', 32)).toEqual([
      'see:\n```js\nlet a = 1;\n```',
      '```js\nlet b = 2;\n```\ndone',
    ]);
  });

  it('closes a fence that its author has left open', () => {
    expect(texts('```\nx', 20)).toEqual(['```\nx\n```']);
  });

  it('tears only a character that does not fit alone, between code points', () => {
    const family = '👩‍👩‍👧‍👦';
    expect(texts(family + family, family.length)).toEqual([family, family]);
    const torn = split(family, upTo(5));
    expect(torn.map(({ body }) => body).join('')).toBe(family);
    for (const { text } of torn) expect(text).not.toMatch(/\p{Surrogate}/u);
  });

  it('makes parts that fit, hold the whole text in order, and tear no character', () => {
    const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });
    fc.assert(
      fc.property(anyText, fc.integer({ min: 60, max: 200 }), (text, limit) => {
        const parts = split(text, upTo(limit));
        expect(parts.map(({ body }) => body).join('')).toBe(text);
        const ends = new Set(Array.from(segmenter.segment(text), ({ index }) => index).concat(text.length));
        let at = 0;
        for (const part of parts) {
          expect(part.text.length).toBeLessThanOrEqual(limit);
          expect(part.text).toContain(part.body);
          at += part.body.length;
          expect(ends.has(at)).toBe(true);
          // Every part opens and closes its own fences.
          expect((part.text.match(/`{3,}/g)?.length ?? 0) % 2).toBe(0);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('keeps to a measure of its own, for services that count an escaped text', () => {
    const escaped = (text: string): string => text.replaceAll('<', '&lt;');
    const parts = split('<'.repeat(100), (text) => escaped(text).length <= 50);
    for (const { text } of parts) expect(escaped(text).length).toBeLessThanOrEqual(50);
    expect(parts.map(({ body }) => body).join('')).toBe('<'.repeat(100));
  });
});
