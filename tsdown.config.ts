import { existsSync } from 'node:fs';
import { defineConfig } from 'tsdown';

/** One entry for each subpath in "exports" of package.json. */
const entries: Record<string, string> = {
  index: 'src/index.ts',
  workflows: 'workflows/index.ts',
  client: 'src/client/index.ts',
  testing: 'src/testing.ts',
};
const cli = 'src/cli/main.ts';

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

const library = Object.fromEntries(Object.entries(entries).filter(([, file]) => existsSync(file)));

export default defineConfig([
  { ...common, entry: library, format: ['esm', 'cjs'], dts: true, clean: true },
  ...(existsSync(cli) ? [{ ...common, entry: { cli }, format: 'esm' as const, dts: false, clean: false }] : []),
]);
