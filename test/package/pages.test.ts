import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { Room } from '../../src/client/index.ts';
import * as helpers from '../../src/in-workflow/index.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MODULES = {
  synod: 'src/index.ts',
  'synod/client': 'src/client/index.ts',
  'synod/workflow': 'src/in-workflow/index.ts',
};
const Config = z.object({ compilerOptions: z.looseObject({}) });

/** The examples of a page, without the indentation of a list. */
async function examplesOf(page: string): Promise<string[]> {
  const text = await readFile(join(ROOT, page), 'utf8');
  return [...text.matchAll(/^( *)```ts\n(.*?)^ *```/gms)].map(([, indent = '', code = '']) =>
    code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

/** What the compiler says of each example, as a file of its own. */
async function compiled(examples: readonly string[]): Promise<string> {
  // Inside the project, so that its packages are found.
  await mkdir(join(ROOT, 'node_modules/.cache'), { recursive: true });
  const folder = await mkdtemp(join(ROOT, 'node_modules/.cache/page-'));
  try {
    for (const [i, text] of examples.entries()) await writeFile(join(folder, `example${i}.ts`), text);
    const { compilerOptions } = Config.parse(JSON.parse(await readFile(join(ROOT, 'tsconfig.json'), 'utf8')));
    const paths = Object.fromEntries(Object.entries(MODULES).map(([name, file]) => [name, [join(ROOT, file)]]));
    const config = { compilerOptions: { ...compilerOptions, paths }, include: ['*.ts'] };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const tsc = [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', folder];
    return await promisify(execFile)(process.execPath, tsc).then(
      () => '',
      (error: unknown) => String(Reflect.get(Object(error), 'stdout')),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const isHelper = (name: string) => /^[a-z]/.test(name) && !['constructor', 'view'].includes(name);
const pages: [string, string[]][] = [
  ['docs/workflow.md', Object.keys(helpers).filter(isHelper)],
  ['docs/coordination.md', Object.getOwnPropertyNames(Room.prototype).filter(isHelper)],
];

it.each(pages)('%s shows each call that it is about', async (page, names) => {
  const text = await readFile(join(ROOT, page), 'utf8');
  expect(names.length).toBeGreaterThan(4);
  expect(names.filter((name) => !new RegExp(`\\b${name}\\(`).test(text))).toEqual([]);
});

it('the examples compile', async () => {
  const examples = (await Promise.all(pages.map(async ([page]) => await examplesOf(page)))).flat();
  expect(examples.length).toBeGreaterThan(10);
  expect(await compiled(examples)).toBe('');
});
