import { open, stat } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { brotliCompressSync, constants } from 'node:zlib';
import { count, type Counted } from './count.ts';

/** How much of a file is compared with others, in bytes. */
const COMPARED_BYTES = 16 * 1024;
/** With how many others, those nearest in size. */
const MAX_COMPARED = 60;
const COMPRESSION = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_LGWIN]: 16 },
};

/** A file that may be compared, as the agents see it. */
export interface Neighbour {
  readonly label: string;
  readonly path: string;
}

/** What an agent finds out about a file. */
export interface Study extends Counted {
  /** The file that it resembles most, and how much: 0 is the same, 1 is unrelated. */
  readonly nearest: string | null;
  readonly distance: number;
}

/**
 * Reads a file from end to end, and finds the other that it resembles most: two texts are alike when they compress
 * better together than apart (normalised compression distance; Cilibrasi and Vitányi, "Clustering by compression").
 * That costs real time of the processor, which is lost when it is done twice.
 */
export async function study(path: string, others: readonly Neighbour[]): Promise<Study> {
  const counted = await count(path);
  const text = await head(path);
  const alone = compressed(text);
  let nearest: string | null = null;
  let distance = 1;
  for (const other of await nearestInSize(counted.bytes, path, others)) {
    const theirs = await head(other.path);
    const apart = compressed(theirs);
    const together = compressed(Buffer.concat([text, theirs]));
    const between = (together - Math.min(alone, apart)) / Math.max(alone, apart, 1);
    if (between < distance) [nearest, distance] = [other.label, Math.max(0, between)];
    // Leases are renewed in between.
    await setImmediate();
  }
  return { ...counted, nearest, distance: Math.round(distance * 1000) / 1000 };
}

async function nearestInSize(bytes: number, path: string, others: readonly Neighbour[]): Promise<Neighbour[]> {
  const sized = await Promise.all(
    others
      .filter((other) => other.path !== path)
      .map(async (other) => ({ other, gap: Math.abs((await stat(other.path)).size - bytes) })),
  );
  return sized
    .sort((a, b) => a.gap - b.gap || (a.other.label < b.other.label ? -1 : 1))
    .slice(0, MAX_COMPARED)
    .map(({ other }) => other);
}

async function head(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(COMPARED_BYTES), 0, COMPARED_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function compressed(text: Buffer): number {
  return brotliCompressSync(text, COMPRESSION).length;
}
