import { expect, it } from 'vitest';
import { guardedFile } from '../support/guarded.ts';
import { startStack } from '../support/stack.ts';

/** At least so long, and until some late writes were refused. */
const SECONDS = Number(process.env['SYNOD_GUARD_SECONDS'] ?? 0);

it(
  'a guarded file has no line of an older token after one of a newer, however its writers are paused',
  { timeout: 300_000 + SECONDS * 2_000 },
  async () => {
    const stack = await startStack();
    try {
      const { lines, pauses, lateRefused, problems } = await guardedFile(
        stack.server.address,
        stack.client,
        'guard',
        SECONDS,
      );
      expect(problems).toEqual([]);
      expect(lines).toBeGreaterThan(0);
      console.info(`locks: ${lines} lines, ${pauses} pauses, ${lateRefused} late writes refused`);
    } finally {
      await stack.stop();
    }
  },
);
