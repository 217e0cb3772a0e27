import { posix as path } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sources } from './sources.ts';

/**
 * What each part of the project may import, beside itself and packages. The arrows go one way: workflows on the left, clients
 * on the right, and `envelope`, what both sides share, under them.
 */
const MAY_IMPORT: { readonly [part: string]: readonly string[] } = {
  envelope: [],
  protocols: ['envelope'],
  host: ['protocols', 'envelope'],
  workflows: ['host', 'protocols', 'envelope'],
  'in-workflow': ['envelope'],
  /** The development server, and what it shares with who connects to a server: log and ports. */
  dev: [],
  client: ['envelope', 'dev'],
  activities: ['client', 'envelope'],
  bridge: ['client', 'dev', 'envelope'],
  gateway: ['bridge', 'client', 'dev', 'envelope'],
  'plugin.ts': ['activities', 'envelope'],
  'worker.ts': ['plugin.ts', 'envelope'],
  'index.ts': ['activities', 'plugin.ts', 'worker.ts', 'envelope'],
  'testing.ts': ['dev'],
  cli: ['gateway', 'bridge', 'client', 'dev', 'envelope', 'plugin.ts', 'worker.ts', 'package.json'],
};
/** Single imports beside the table. */
const ALSO = new Set([
  // Settings of zod in the sandbox, before any schema is made.
  'src/in-workflow/index.ts -> workflows/preload.ts',
]);
/** Parts that run inside Temporal's sandbox, or are shared with what does. */
const SANDBOXED = ['envelope', 'protocols', 'host', 'workflows', 'in-workflow'];

const IMPORT = /(?:\bfrom |\bimport\(|^import )'([^']+)'/gm;

/** `src/client/agent.ts` is of `client`, `src/plugin.ts` and `workflows/host.ts` of `plugin.ts` and `workflows`. */
function partOf(file: string): string {
  const [first = '', second = ''] = file.split('/');
  return first === 'src' ? second : first;
}

const imports = sources('src', 'workflows', 'activities').flatMap(({ path: file, text }) =>
  [...text.matchAll(IMPORT)].map(([, to = '']) => ({
    file,
    part: partOf(file),
    to: to.startsWith('.') ? path.join(path.dirname(file), to) : to,
    own: to.startsWith('.'),
  })),
);

describe('imports', () => {
  it('go only where the table allows', () => {
    const wrong = imports.filter(({ part, to, own }) => {
      const target = partOf(to);
      return own && target !== part && !(MAY_IMPORT[part] ?? []).includes(target);
    });
    expect(wrong.map(({ file, to }) => `${file} -> ${to}`).filter((each) => !ALSO.has(each))).toEqual([]);
    expect(imports.filter(({ own }) => own).length).toBeGreaterThan(300);
  });

  it('are of parts that the table names, and the table names no others', () => {
    expect([...new Set(imports.map(({ part }) => part))].sort()).toEqual(Object.keys(MAY_IMPORT).sort());
  });

  it('never run in a circle', () => {
    const above = (part: string, seen: readonly string[] = []): string[] =>
      seen.includes(part)
        ? [[...seen, part].join(' -> ')]
        : (MAY_IMPORT[part] ?? []).flatMap((next) => above(next, [...seen, part]));
    expect(Object.keys(MAY_IMPORT).flatMap((part) => above(part))).toEqual([]);
  });

  it('of what runs in the sandbox are none of Node', () => {
    const wrong = imports.filter(({ part, to }) => SANDBOXED.includes(part) && to.startsWith('node:'));
    expect(wrong.map(({ file, to }) => `${file} -> ${to}`)).toEqual([]);
  });
});
