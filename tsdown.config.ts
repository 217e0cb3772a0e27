import { defineConfig } from 'tsdown';

/** One entry for each subpath in "exports" of package.json. */
const entries: Record<string, string> = {
  index: 'src/index.ts',
  client: 'src/client/index.ts',
  testing: 'src/testing.ts',
};
const cli = 'src/cli/main.ts';
/** On its own, so that it shares no chunk with code of Node, and what it sets up first really comes first. */
const sandbox = {
  workflows: 'workflows/index.ts',
  merged: 'workflows/merged.ts',
  preload: 'workflows/preload.ts',
};

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
  { ...common, entry: sandbox, format: ['esm', 'cjs'], dts: true, clean: false },
  { ...common, entry: { cli }, format: 'esm', dts: false, clean: false },
]);
