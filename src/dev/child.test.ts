import { expect, it } from 'vitest';
import { startChild } from './child.ts';

it('keeps how the output of a process began, where a panic says its reason, and how it ended', async () => {
  const child = await startChild(process.execPath, ['-e', 'for (let i = 1; i <= 200; i++) console.error(i)']);
  await child.exited;
  const lines = child.tail().split('\n').map(Number);
  expect(lines).toEqual([
    ...Array.from({ length: 10 }, (_, i) => i + 1),
    ...Array.from({ length: 50 }, (_, i) => i + 151),
  ]);
});
