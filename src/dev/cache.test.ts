import { describe, expect, it } from 'vitest';
import { cacheFolder } from './cache.ts';

describe('cacheFolder', () => {
  const home = '/somewhere';
  it.each([
    ['linux', {}, '/somewhere/.cache/synod'],
    ['linux', { XDG_CACHE_HOME: '/var/cache/ada' }, '/var/cache/ada/synod'],
    ['linux', { XDG_CACHE_HOME: 'relative' }, '/somewhere/.cache/synod'],
    ['linux', { XDG_CACHE_HOME: '/x', SYNOD_CACHE_DIR: '/own' }, '/own'],
    ['linux', { SYNOD_CACHE_DIR: '' }, '/somewhere/.cache/synod'],
    ['darwin', { XDG_CACHE_HOME: '/x' }, '/somewhere/Library/Caches/synod'],
    ['win32', { LOCALAPPDATA: '/Local' }, '/Local/synod/Cache'],
  ] as const)('on %s with %o is %s', (platform, env, expected) => {
    expect(cacheFolder({ platform, env, home })).toBe(expected);
  });
});
