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
    // These end what hangs and say nothing about speed: a machine ten times slower than usual stays far below them.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
  },
});
