import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src', 'workflows', 'activities', 'scripts', 'examples', 'test'].map(
      (folder) => `${folder}/**/*.test.ts`,
    ),
    // The SDK's native library wants a process of its own for each file.
    pool: 'forks',
    // Each file may start a Temporal server.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 120_000,
    // What is told from workflow to workflow takes a second, and on a busy machine some more.
    expect: { poll: { timeout: 15_000 } },
  },
});
