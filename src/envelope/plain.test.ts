import { expect, it } from 'vitest';
import { clock, plain } from './plain.ts';

it('shows markup instead of rendering it', () => {
  expect(plain('**bold** [a](http://b) <img src=x> `c` | d')).toBe(
    '\\*\\*bold\\*\\* \\[a\\]\\(http://b\\) \\<img src=x\\> \\`c\\` \\| d',
  );
});

it('keeps to one line of bounded length', () => {
  expect(plain('a\r\n# b\u0000c')).toBe('a \\# b c');
  expect(plain('x'.repeat(201))).toBe(`${'x'.repeat(200)}…`);
  expect(plain('x'.repeat(200))).toBe('x'.repeat(200));
});

it('leaves ordinary text as it is', () => {
  expect(plain('Write the release notes for agent-7, v1.2: größer')).toBe(
    'Write the release notes for agent-7, v1.2: größer',
  );
});

it('shows time to the second', () => {
  expect(clock(1_000_999)).toBe('1970-01-01 00:16:40 UTC');
});
