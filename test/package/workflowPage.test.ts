import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

it('docs/workflow.md has examples that compile, one for each helper', { timeout: 120_000 }, async () => {
  const page = await readFile(join(ROOT, 'docs/workflow.md'), 'utf8');
  const examples = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, text = '']) => text);
  const used = examples.flatMap((text) => [...text.matchAll(/await (\w+)\(/g)].map(([, name]) => name));
  const exported = Object.keys(await import('../../src/workflow/index.ts'));
  const helpers = exported.filter((name) => /^[a-z]/.test(name));
  expect(helpers.filter((name) => !used.includes(name))).toEqual([]);
  // Inside the project, so that its packages are found.
  const folder = await mkdtemp(join(ROOT, 'node_modules/.cache/page-'));
  try {
    for (const [i, text] of examples.entries()) await writeFile(join(folder, `example${i}.ts`), text);
    const { compilerOptions } = JSON.parse(await readFile(join(ROOT, 'tsconfig.json'), 'utf8')) as {
      compilerOptions: object;
    };
    const paths = { 'synod/workflow': [join(ROOT, 'src/workflow/index.ts')] };
    const config = { compilerOptions: { ...compilerOptions, paths }, include: ['*.ts'] };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const compile = promisify(execFile)(process.execPath, [
      join(ROOT, 'node_modules/typescript/bin/tsc'),
      '-p',
      folder,
    ]);
    const said = await compile.then(
      () => '',
      (error: unknown) => String(Reflect.get(Object(error), 'stdout')),
    );
    expect(said).toBe('');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
