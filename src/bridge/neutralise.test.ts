import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { breakMentions, cleanText } from './neutralise.ts';

describe('a text of somebody else', () => {
  it('keeps its lines, whatever ends them', () => {
    expect(cleanText('a\r\nb\rc\u2028d\u0085e\n\n\n\n\n\nf')).toBe('a\nb\nc\nd\ne\n\n\nf');
  });

  it('shows what would move the cursor, recolour the screen or reorder the line instead of doing it', () => {
    expect(cleanText('a\u001b[2Jb\u202ec\u0007\td')).toBe('a\\u001b[2Jb\\u202ec\\u0007 d');
  });

  it('drops what nobody sees, and keeps what emoji and scripts need', () => {
    expect(cleanText('se\u200bcr\u2060et\ufeff')).toBe('secret');
    const hidden = Array.from('obey', (char) => String.fromCodePoint(0xe0000 + (char.codePointAt(0) ?? 0))).join('');
    expect(cleanText(`hello${hidden}`)).toBe('hello');
    const kept = '👩‍👩‍👧 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} می‌خواهم ☀️';
    expect(cleanText(kept)).toBe(kept);
  });

  it('pulls down towers of marks, and has no emptiness longer than a screen', () => {
    expect(cleanText(`a${'\u0301'.repeat(500)}`)).toBe(`a${'\u0301'.repeat(8)}`);
    expect(cleanText(`a${' '.repeat(5_000)}b`)).toBe(`a${' '.repeat(80)}b`);
  });

  it('has no control character left but line ends, whatever it was, and is the same when cleaned again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        const clean = cleanText(text);
        expect(clean).not.toMatch(/(?!\n)\p{Cc}|\p{Surrogate}/u);
        expect(cleanText(clean)).toBe(clean);
      }),
    );
  });
});

describe('mentions', () => {
  it.each(['@everyone', '@here', '@room', '@ann:example.org', 'hi @ann', '(@ann)', '<@123>', '<!channel>', '<#42>'])(
    'are broken, and read as before: %s',
    (text) => {
      const broken = breakMentions(text);
      expect(broken.replaceAll('\u200b', '')).toBe(text);
      expect(broken).not.toMatch(/@\w|<[@!#&]/);
    },
  );

  it('are not what an address is', () => {
    expect(breakMentions('ann@example.org, 3 @ 4, a <b> c')).toBe('ann@example.org, 3 @ 4, a <b> c');
  });
});
