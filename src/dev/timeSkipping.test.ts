import { expect, it } from 'vitest';
import { createTimeSkippingEnv } from './timeSkipping.ts';

it('skips time', async () => {
  const env = await createTimeSkippingEnv();
  try {
    const before = await env.currentTimeMs();
    await env.sleep('1 day');
    expect((await env.currentTimeMs()) - before).toBeGreaterThanOrEqual(24 * 60 * 60 * 1000);
  } finally {
    await env.teardown();
  }
});
