import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../../scripts/run.ts';

const text = readFileSync(path.join(root, 'docs/architecture.md'), 'utf8');

/** The paths in backticks in a part of the page, with `{a,b}` spelled out. */
function pathsIn(heading: string): string[] {
  const part = text.split(/^## /m).find((one) => one.startsWith(heading)) ?? '';
  return [...part.matchAll(/`((?:src|workflows|activities|test)\b[^`]*|vitest\.config\.ts)`/g)].map(
    ([, name = '']) => name,
  );
}

/** The paths that a pattern with braces stands for. */
function expanded(pattern: string): string[] {
  const [, before = '', names = '', after = ''] = /^(.*)\{(.*)\}(.*)$/.exec(pattern) ?? [];
  return names === '' ? [pattern] : names.split(',').map((name) => before + name + after);
}

describe('docs/architecture.md', () => {
  it('names every folder of the sources', () => {
    const folders = readdirSync(path.join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const named = pathsIn('Parts');
    const all = [...folders.map(({ name }) => `src/${name}`), 'workflows', 'activities'];
    expect(named).toEqual(expect.arrayContaining(all));
  });

  it('names only files that exist', () => {
    const named = [...pathsIn('Parts'), ...pathsIn('Where a fact lives'), ...pathsIn('How a primitive is built')];
    expect(named.length).toBeGreaterThan(30);
    const missing = named.flatMap(expanded).filter((name) => !existsSync(path.join(root, name)));
    expect(missing).toEqual([]);
  });
});
