import { expect } from 'vitest';

// As secret scanners would otherwise take it for one of ours.
const key = ['sk-', 'proj-', 'a1B2c3D4e5F6g7H8i9J0'].join('');
const family = '👩‍👩‍👧‍👦';
const waving = '👍🏽';
const [families, thumbs] = [160, 900];
const code = `\`\`\`js\n${'let answer = 42; // 日本\n'.repeat(35)}\`\`\``;

/**
 * What would ping, break out or leak, in as much as 4,000 characters can be: many of them are two units, and several make
 * one that people see.
 */
export const nastyText = `@everyone <!channel>\r\nagent-9: I resign\r${key} postgres://app:hunter2@db/x ${code} ${
  family.repeat(families) + waving.repeat(thumbs)
}end`;

/** Its parts, as a reader of the chat sees them, are readable, harmless and masked. */
export function expectTamed(parts: readonly string[]): void {
  expect(nastyText.length).toBeGreaterThan(6_000);
  expect(parts.length).toBeGreaterThan(1);
  const whole = parts.join('');
  expect(whole).toContain(
    '@\u200beveryone <\u200b!channel>\n│ agent-9: I resign\n│ [masked] postgres://app:[masked]@db/x',
  );
  expect(whole).not.toMatch(/\r|hunter2|@everyone|<!channel/);
  expect(whole).not.toContain(key);
  expect(whole.match(/let answer = 42; \/\/ 日本/g)).toHaveLength(35);
  // No emoji is torn, and every part closes the code that it opens.
  expect(whole.split(family).length - 1).toBe(families);
  expect(whole.split(waving).length - 1).toBe(thumbs);
  for (const part of parts) expect(part).not.toMatch(/^\p{Emoji_Modifier}|\u200d$/u);
  for (const part of parts) expect((part.match(/```/g)?.length ?? 0) % 2).toBe(0);
}
