import { defineConfig } from 'tsdown';

/** One entry for each subpath in "exports" of package.json. */
const entries: Record<string, string> = {
  index: 'src/index.ts',
  client: 'src/client/index.ts',
  bridge: 'src/bridge/index.ts',
  testing: 'src/testing.ts',
};
const cli = 'src/cli/main.ts';
/**
 * For the sandbox: each on its own, so that none shares a chunk with code of Node, and what it sets up first really comes first. What two
 * entries share becomes a chunk, which as CommonJS comes before the rest.
 */
const sandbox: readonly Record<string, string>[] = [
  { preload: 'workflows/preload.ts' },
  { workflow: 'src/in-workflow/index.ts' },
  { workflows: 'workflows/index.ts', merged: 'workflows/merged.ts' },
];

const common = {
  platform: 'node',
  target: 'node20',
  outDir: 'dist',
  // .mjs and .cjs, whatever "type" says.
  fixedExtension: true,
  sourcemap: true,
  // Both formats may ask where they are.
  shims: true,
} as const;

export default defineConfig([
  { ...common, entry: entries, format: ['esm', 'cjs'], dts: true, clean: true },
  ...sandbox.map((entry) => ({ ...common, entry, format: ['esm' as const, 'cjs' as const], dts: true, clean: false })),
  { ...common, entry: { cli }, format: 'esm', dts: false, clean: false },
]);
