import { createHash } from 'node:crypto';
import { open, readdir } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { name } from '../../src/envelope/fields.ts';

/** A text file to be processed, and the task that stands for it. */
export interface InputFile {
  readonly taskId: string;
  /** Relative to the input folder, as it is shown. */
  readonly label: string;
  readonly path: string;
}

const PASSED_OVER = new Set(['node_modules', 'dist', 'coverage', 'reports']);
/** The project's own sources and docs: what the demo studies unless it is given another folder. */
export const OWN_TEXTS = fileURLToPath(new URL('../..', import.meta.url));
/** Its tests are more than all the rest, and would make the demo long. */
const OWN_PASSED_OVER = /^(test|bench)$|\.(test|fixture)\.ts$/;
/** So many of them, spread over all: the demo is to last no longer because the project has grown. */
const MAX_OWN = 100;
const SNIFFED_BYTES = 8_192;

/** Every text file below a folder, in a stable order. Hidden files, links and build output are passed over. */
export async function textFiles(root: string): Promise<InputFile[]> {
  const found: InputFile[] = [];
  const own = resolve(root) === resolve(OWN_TEXTS);
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    throw new Error(`cannot read the folder ${root}: give another with --input DIR`, { cause: error });
  });
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    const label = relative(root, path);
    const parts = label.split(sep);
    const passedOver =
      parts.some((part) => part.startsWith('.') || PASSED_OVER.has(part)) ||
      (own && [parts[0], entry.name].some((name) => OWN_PASSED_OVER.test(name ?? '')));
    if (entry.isFile() && !passedOver && (await isText(path))) found.push({ taskId: taskIdOf(label), label, path });
  }
  found.sort((a, b) => (a.label < b.label ? -1 : 1));
  return own ? spread(found, MAX_OWN) : found;
}

/** At most `count` of a list, evenly over all of it. */
function spread<T>(all: readonly T[], count: number): T[] {
  const step = Math.max(1, all.length / count);
  return all.filter((_, i) => Math.floor(i / step) !== Math.floor((i - 1) / step));
}

/** The file's own name where it may be a task's name; else a digest of it. */
function taskIdOf(label: string): string {
  const id = label.split(sep).join('/');
  return name.safeParse(id).success ? id : `file-${createHash('sha256').update(label).digest('hex').slice(0, 32)}`;
}

async function isText(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(SNIFFED_BYTES), 0, SNIFFED_BYTES, 0);
    return !buffer.subarray(0, bytesRead).includes(0);
  } finally {
    await file.close();
  }
}
