import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'tsdown';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Below node_modules, so that what is built finds its dependencies. */
const folder = path.join(root, 'node_modules/.cache/synod/bench');

/** What the processes of the bench run: plain JavaScript, which starts in half the time. */
export interface Built {
  readonly agents: string;
  readonly worker: string;
  readonly gateway: string;
  /** Workflow bundles by task queue. */
  readonly bundles: { readonly synod: Bundle; readonly bare: Bundle };
  remove(): Promise<void>;
}

export interface Bundle {
  readonly codePath: string;
  /** Bytes of code, without the source map. */
  readonly bytes: number;
}

export async function buildAll(): Promise<Built> {
  const outDir = path.join(folder, String(process.pid));
  await mkdir(outDir, { recursive: true });
  const entry = {
    agents: path.join(root, 'bench/processes/agents.ts'),
    worker: path.join(root, 'bench/processes/worker.ts'),
    gateway: path.join(root, 'bench/processes/gateway.ts'),
  };
  // What two entries share becomes a chunk: of workflows each is built alone, as in the package.
  const sandbox = { synod: path.join(root, 'workflows/index.ts'), bare: path.join(root, 'bench/bare.ts') };
  const alone = Object.entries(sandbox).map(([name, source]) => ({ [name]: source }));
  for (const each of [entry, ...alone])
    await build({
      config: false,
      cwd: root,
      entry: each,
      outDir,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      fixedExtension: true,
      dts: false,
      clean: false,
      logLevel: 'error',
    });
  return {
    agents: path.join(outDir, 'agents.mjs'),
    worker: path.join(outDir, 'worker.mjs'),
    gateway: path.join(outDir, 'gateway.mjs'),
    bundles: {
      synod: await bundle(outDir, 'synod', ['zod']),
      bare: await bundle(outDir, 'bare', []),
    },
    remove: async () => await rm(outDir, { recursive: true, force: true }),
  };
}

/** Bundles what is built, as users do: of TypeScript Temporal's bundler makes slower code. */
async function bundle(outDir: string, name: string, preloadModules: string[]): Promise<Bundle> {
  const logger = new DefaultLogger('ERROR');
  const workflowsPath = path.join(outDir, `${name}.mjs`);
  const { code } = await bundleWorkflowCode({ workflowsPath, preloadModules, logger });
  const codePath = path.join(outDir, `${name}.workflows.js`);
  await writeFile(codePath, code);
  const map = code.lastIndexOf('//# sourceMappingURL=');
  return { codePath, bytes: Buffer.byteLength(map < 0 ? code : code.slice(0, map)) };
}
