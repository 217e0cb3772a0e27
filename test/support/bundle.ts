import { bundleWorkflowCode, DefaultLogger, type BundleOptions } from '@temporalio/worker';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { SynodPlugin } from '../../src/plugin.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const cache = path.join(root, 'node_modules/.cache/synod');
/** What can end up in the bundle; the lock file stands for the dependencies. */
const SOURCES = ['workflows', 'src/envelope', 'src/host', 'src/protocols'];
/** The same with workflows of a user, which call the helpers. */
const USERS = ['test/users', 'src/in-workflow', 'src/client'];

async function sources(folder: string): Promise<string[]> {
  const found = await readdir(path.join(root, folder), { recursive: true });
  return found
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => path.join(folder, file));
}

async function contentHash(folders: readonly string[]): Promise<string> {
  const files = ['package-lock.json', ...(await Promise.all(folders.map(sources))).flat()].sort();
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0`).update(await readFile(path.join(root, file)));
  return hash.digest('hex').slice(0, 24);
}

/**
 * The workflows as one script, made once for each state of the sources: webpack takes seconds, and every test file wants it.
 * @returns the script's path, for `workflowBundle: { codePath }`
 */
export async function workflowBundle(): Promise<{ codePath: string }> {
  return await bundled('workflows', SOURCES, { workflowsPath: 'workflows/index.ts', preloadModules: ['zod'] });
}

/** Likewise, with the workflows of `test/users` beside them, as the plugin merges them. */
export async function usersBundle(): Promise<{ codePath: string }> {
  return await bundled('users', [...SOURCES, ...USERS], {
    workflowsPath: 'test/users/workflows.ts',
    plugins: [new SynodPlugin()],
  });
}

async function bundled(
  name: string,
  folders: readonly string[],
  options: BundleOptions,
): Promise<{ codePath: string }> {
  const codePath = path.join(cache, `${name}-${await contentHash(folders)}.js`);
  if (await readFile(codePath).catch(() => undefined)) return { codePath };
  const { code } = await bundleWorkflowCode({
    ...options,
    workflowsPath: path.join(root, options.workflowsPath),
    logger: new DefaultLogger('ERROR'),
  });
  await mkdir(cache, { recursive: true });
  const draft = `${codePath}.${process.pid}`;
  await writeFile(draft, code);
  // Atomic: another test file may make the same one at the same time.
  await rename(draft, codePath);
  return { codePath };
}
