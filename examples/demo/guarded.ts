import {
  appendFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { checkToken } from '../../src/client/index.ts';

const begun = z.object({ token: z.number(), offset: z.number() });
const fence = z.number();

/** The report's lock. */
export const REPORT = 'report';

/**
 * The report as a resource that checks fencing tokens: a part of it is written piece by piece under an exclusive lock, a
 * token older than the newest is refused, and the unfinished part of a lost holder can be rolled back.
 * Its state is in files: the agents' parent writes, and the worker rolls back.
 */
export class GuardedReport {
  readonly path: string;
  readonly #fence: string;
  readonly #begun: string;
  readonly #rolledBack: string;

  constructor(folder: string) {
    this.path = join(folder, 'report.md');
    this.#fence = join(folder, 'report.fence.json');
    this.#begun = join(folder, 'report.begun.json');
    this.#rolledBack = join(folder, 'report.rolled-back.log');
  }

  /** Adds a piece of a part. @throws SynodError `stale_token` where a newer token was seen, or this one's holder was lost. */
  add(token: number, text: string, place: 'first' | 'middle' | 'last'): void {
    this.#save(this.#fence, checkToken(this.#read(this.#fence, fence), token));
    if (place === 'first')
      this.#save(this.#begun, { token, offset: existsSync(this.path) ? statSync(this.path).size : 0 });
    appendFileSync(this.path, text);
    if (place === 'last') rmSync(this.#begun, { force: true });
  }

  /** Removes the unfinished part of a token, and refuses that token from now on. Idempotent. */
  rollBack(token: number): void {
    this.#save(this.#fence, Math.max(token + 1, this.#read(this.#fence, fence) ?? 0));
    const left = this.#read(this.#begun, begun);
    if (left?.token !== token) return;
    truncateSync(this.path, left.offset);
    rmSync(this.#begun, { force: true });
    appendFileSync(this.#rolledBack, `${token}\n`);
  }

  /** How often an unfinished part was removed. */
  get rollbacks(): number {
    return existsSync(this.#rolledBack) ? readFileSync(this.#rolledBack, 'utf8').trim().split('\n').length : 0;
  }

  #read<T>(path: string, schema: z.ZodType<T>): T | undefined {
    return existsSync(path) ? schema.parse(JSON.parse(readFileSync(path, 'utf8'))) : undefined;
  }

  #save(path: string, content: unknown): void {
    // Whole or not at all: another process reads it.
    writeFileSync(`${path}.new`, JSON.stringify(content));
    renameSync(`${path}.new`, path);
  }
}
