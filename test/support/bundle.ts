import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const cache = path.join(root, 'node_modules/.cache/synod');
/** What can end up in the bundle; the lock file stands for the dependencies. */
const SOURCES = ['workflows', 'src/envelope', 'src/host', 'src/protocols'];

async function sources(folder: string): Promise<string[]> {
  const found = await readdir(path.join(root, folder), { recursive: true });
  return found
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => path.join(folder, file));
}

async function contentHash(): Promise<string> {
  const files = ['package-lock.json', ...(await Promise.all(SOURCES.map(sources))).flat()].sort();
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0`).update(await readFile(path.join(root, file)));
  return hash.digest('hex').slice(0, 24);
}

/**
 * The workflows as one script, made once for each state of the sources: webpack takes seconds, and every test file wants it.
 * @returns the script's path, for `workflowBundle: { codePath }`
 */
export async function workflowBundle(): Promise<{ codePath: string }> {
  const codePath = path.join(cache, `workflows-${await contentHash()}.js`);
  if (await readFile(codePath).catch(() => undefined)) return { codePath };
  const { code } = await bundleWorkflowCode({
    workflowsPath: path.join(root, 'workflows/index.ts'),
    preloadModules: ['zod'],
    logger: new DefaultLogger('ERROR'),
  });
  await mkdir(cache, { recursive: true });
  const draft = `${codePath}.${process.pid}`;
  await writeFile(draft, code);
  // Atomic: another test file may make the same one at the same time.
  await rename(draft, codePath);
  return { codePath };
}
