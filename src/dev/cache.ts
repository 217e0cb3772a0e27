import { homedir } from 'node:os';
import path from 'node:path';
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';

/** What decides where the cache is; every field defaults to this process's own. */
export interface CachePlace {
  env?: NodeJS.ProcessEnv | undefined;
  platform?: NodeJS.Platform | undefined;
  home?: string | undefined;
}

/**
 * The folder that keeps fetched executables: `SYNOD_CACHE_DIR`, else the system's cache folder for the user
 * (`$XDG_CACHE_HOME/synod`, `~/.cache/synod`; `~/Library/Caches/synod` on macOS; `%LOCALAPPDATA%\synod\Cache` on
 * Windows). It may not exist yet.
 */
export function cacheFolder({
  env = process.env,
  platform = process.platform,
  home = homedir(),
}: CachePlace = {}): string {
  const set = (name: string): string | undefined => (env[name] === '' ? undefined : env[name]);
  const own = set('SYNOD_CACHE_DIR');
  if (own !== undefined) return path.resolve(own);
  if (platform === 'win32')
    return path.join(set('LOCALAPPDATA') ?? path.join(home, 'AppData', 'Local'), 'synod', 'Cache');
  if (platform === 'darwin') return path.join(home, 'Library', 'Caches', 'synod');
  const xdg = set('XDG_CACHE_HOME');
  // The XDG specification says that a relative path is to be ignored.
  return path.join(xdg !== undefined && path.isAbsolute(xdg) ? xdg : path.join(home, '.cache'), 'synod');
}

const TEMPORARY = '.tmp-';
const STALE_MS = 60 * 60 * 1000;

/**
 * Runs `use` with a new folder inside the cache (so that a rename out of it is atomic) and removes it afterwards.
 * Folders that an interrupted process left behind more than an hour ago are removed too.
 */
export async function withTemporaryFolder<T>(cache: string, use: (folder: string) => Promise<T>): Promise<T> {
  await mkdir(cache, { recursive: true });
  await removeStale(cache);
  const folder = await mkdtemp(path.join(cache, TEMPORARY));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function removeStale(cache: string): Promise<void> {
  for (const name of await readdir(cache)) {
    if (!name.startsWith(TEMPORARY)) continue;
    const folder = path.join(cache, name);
    // Another process may remove it between the two calls: that is as good.
    const info = await stat(folder).catch(() => undefined);
    if (info !== undefined && Date.now() - info.mtimeMs > STALE_MS) await rm(folder, { recursive: true, force: true });
  }
}
