import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const manifest = z.object({ files: z.array(z.string()) });
const packed = z.array(z.object({ filename: z.string() })).min(1);

/**
 * Builds and packs the package as it would be published; returns the path of the tarball. In a folder of its own: another
 * test file may do the same at the same time.
 */
export async function packTarball(into: string): Promise<string> {
  const copy = join(into, 'packed');
  await run(process.execPath, [join(ROOT, 'node_modules/tsdown/dist/run.mjs'), '--out-dir', join(copy, 'dist')], {
    cwd: ROOT,
  });
  const { files } = manifest.parse(JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')));
  for (const name of ['package.json', 'README.md', 'LICENSE', ...files])
    if (name !== 'dist') await cp(join(ROOT, name), join(copy, name), { recursive: true });
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', into], { cwd: copy });
  const [tarball] = packed.parse(JSON.parse(stdout));
  return join(into, tarball?.filename ?? '');
}

export async function temporaryFolder(): Promise<string> {
  return await mkdtemp(join(tmpdir(), 'synod-package-'));
}

export type ModuleKind = 'module' | 'commonjs';

/** A user's project: the tarball installed beside files of its own, compiled strictly and with every library checked. */
export class Project {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async create(
    folder: string,
    kind: ModuleKind,
    tarball: string,
    files: Record<string, string>,
  ): Promise<Project> {
    await mkdir(folder, { recursive: true });
    const compilerOptions = {
      target: 'es2022',
      module: 'nodenext',
      strict: true,
      skipLibCheck: false,
      types: ['node'],
      outDir: 'out',
      rootDir: '.',
    };
    const all: Record<string, string> = {
      ...files,
      'package.json': JSON.stringify({ name: `a-user-${kind}`, private: true, type: kind }),
      'tsconfig.json': JSON.stringify({ compilerOptions, include: ['*.ts'] }),
    };
    for (const [name, text] of Object.entries(all)) await writeFile(join(folder, name), text);
    await run('npm', ['install', '--no-audit', '--no-fund', tarball, 'typescript@6.0.3', '@types/node@20'], {
      cwd: folder,
    });
    return new Project(folder);
  }

  /** Compiles; what the compiler says is in the error. */
  async compile(): Promise<void> {
    await this.#node(['node_modules/typescript/bin/tsc']);
  }

  /** Runs a compiled file; returns the last line of its output, parsed. */
  async run(file: string, args: readonly string[] = []): Promise<unknown> {
    const output = await this.#node([join('out', file), ...args]);
    return JSON.parse(output.trim().split('\n').at(-1) ?? 'null');
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  async #node(args: readonly string[]): Promise<string> {
    try {
      return (await run(process.execPath, [...args], { cwd: this.folder })).stdout;
    } catch (error) {
      const said = z.object({ stdout: z.string(), stderr: z.string() }).safeParse(error);
      throw new Error(said.success ? `${said.data.stdout}\n${said.data.stderr}` : String(error), { cause: error });
    }
  }
}
