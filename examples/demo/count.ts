import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

const TOP_WORDS = 5;

/** What an agent finds out about a file. */
export interface Counted {
  readonly bytes: number;
  readonly lines: number;
  readonly words: number;
  readonly top: readonly (readonly [word: string, count: number])[];
  readonly sha256: string;
}

/** Reads a text file from end to end: its size, its most frequent words, its digest. */
export async function count(path: string): Promise<Counted> {
  const hash = createHash('sha256');
  const frequency = new Map<string, number>();
  let bytes = 0;
  let lines = 0;
  let words = 0;
  const stream = createReadStream(path);
  stream.on('data', (chunk) => {
    hash.update(chunk);
    bytes += Buffer.byteLength(chunk);
  });
  for await (const line of createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })) {
    lines += 1;
    for (const [word] of line.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
      words += 1;
      frequency.set(word, (frequency.get(word) ?? 0) + 1);
    }
  }
  const top = [...frequency].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)).slice(0, TOP_WORDS);
  return { bytes, lines, words, top, sha256: hash.digest('hex') };
}
