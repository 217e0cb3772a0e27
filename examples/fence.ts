/**
 * A file that only the holder of the newest token can write: `npx tsx examples/fence.ts`.
 *
 * A lease alone cannot stop a holder that was paused and goes on writing after its time. The resource can: it keeps the
 * highest token that it has seen and refuses an older one, in the same step as the write.
 */
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { checkToken, SynodError } from '../src/client/index.ts';

const stored = z.object({ token: z.number(), text: z.string() });

/** A text file with a fence. One process owns it, as a database would own a row; its writers only send it what they have. */
class FencedFile {
  readonly #path: string;
  #current: z.infer<typeof stored> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  write(token: number, text: string): void {
    this.#current = { token: checkToken(this.#current?.token, token), text };
    // A rename replaces the file in one step: nobody ever reads half of it.
    writeFileSync(`${this.#path}.new`, JSON.stringify(this.#current));
    renameSync(`${this.#path}.new`, this.#path);
  }

  read(): z.infer<typeof stored> {
    return stored.parse(JSON.parse(readFileSync(this.#path, 'utf8')));
  }
}

const folder = mkdtempSync(join(tmpdir(), 'synod-fence-'));
try {
  const report = new FencedFile(join(folder, 'report.json'));
  report.write(1, 'by the first holder, in time');
  report.write(2, 'by the second holder, after the lease of the first had run out');
  try {
    report.write(1, 'by the first holder, which was paused and knows nothing of the second');
  } catch (error) {
    if (!(error instanceof SynodError)) throw error;
    console.log(`refused: ${error.message}`);
  }
  console.log(`kept: ${report.read().text}`);
} finally {
  rmSync(folder, { recursive: true });
}
