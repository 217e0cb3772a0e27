import { describe, expect, it } from 'vitest';
import { needed } from './needed.ts';

const absent = '@synod/not-installed';

function missing(name: string): Error {
  // As Node says it: https://nodejs.org/api/errors.html#err_module_not_found
  return Object.assign(new Error(`Cannot find package '${name}' imported from bridge.mjs`), {
    code: 'ERR_MODULE_NOT_FOUND',
  });
}

describe('a package that only some need', () => {
  it('is loaded where it is installed', async () => {
    const zod = await needed('zod', 'A test', () => import('zod'));
    expect(zod.z.string().parse('a')).toBe('a');
  });

  it('is named where it is not, with what to do', async () => {
    const loading = needed(absent, 'The bridge to nowhere', () => Promise.reject(missing(absent)));
    await expect(loading).rejects.toThrow(
      'The bridge to nowhere needs the package @synod/not-installed, which is not installed: npm install @synod/not-installed',
    );
  });

  it('does not hide what else is wrong', async () => {
    const other = missing('something-that-it-needs');
    await expect(needed(absent, 'A test', () => Promise.reject(other))).rejects.toBe(other);
    const broken = new Error(`'${absent}' is broken`);
    await expect(needed(absent, 'A test', () => Promise.reject(broken))).rejects.toBe(broken);
  });
});
