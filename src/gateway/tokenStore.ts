import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { messageOf, type Log } from '../dev/log.ts';
import { explain, parseErrors } from '../envelope/refusal.ts';
import { match, tokenFile, type StoredToken } from './tokens.ts';

/** A changed file is noticed after at most so long, in milliseconds. */
const RECHECK_MS = 1_000;

/** Where tokens are looked up. */
export interface TokenSource {
  find(token: string): Promise<StoredToken | undefined>;
  /** Whether a token that was found is still as it was. */
  holds(token: StoredToken): Promise<boolean>;
}

/** The tokens of a file; what is added or revoked there holds within a second, also for streams that are open. */
export class TokenFile implements TokenSource {
  readonly #path: string;
  readonly #log: Log;
  #known = new Map<string, StoredToken>();
  #version = '';
  #checkedAt = Number.NEGATIVE_INFINITY;
  #rereading: Promise<void> | undefined;

  private constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
  }

  /** @throws Error saying what to do, where the file is missing or malformed. */
  static async open(path: string, log: Log): Promise<TokenFile> {
    const file = new TokenFile(path, log);
    // The version first: what changes while it is read is read again.
    file.#version = await versionOf(path).catch(() => '');
    file.#known = await readTokens(path);
    return file;
  }

  async find(token: string): Promise<StoredToken | undefined> {
    await this.#refresh();
    return match(token, this.#known);
  }

  async holds({ id, hash }: StoredToken): Promise<boolean> {
    await this.#refresh();
    return this.#known.get(id)?.hash === hash;
  }

  async #refresh(): Promise<void> {
    const now = performance.now();
    if (now - this.#checkedAt >= RECHECK_MS) {
      this.#checkedAt = now;
      this.#rereading = this.#reread();
    }
    // Who comes meanwhile waits for it, too.
    await this.#rereading;
  }

  async #reread(): Promise<void> {
    try {
      const version = await versionOf(this.#path);
      if (version === this.#version) return;
      this.#known = await readTokens(this.#path);
      this.#version = version;
    } catch (error) {
      // Better the tokens of before than none: a file that somebody is writing is whole again soon.
      this.#log(`the tokens stay as they were: ${messageOf(error)}`);
    }
  }
}

async function versionOf(path: string): Promise<string> {
  const { mtimeMs, size, ino } = await stat(path);
  return `${mtimeMs} ${size} ${ino}`;
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** The tokens of a file, by id. @throws Error saying what to do, where it is missing or malformed. */
export async function readTokens(path: string): Promise<Map<string, StoredToken>> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    if (isMissing(cause))
      throw new Error(`there is no file of tokens at ${path}: synod gateway token add makes one`, { cause });
    throw new Error(`the file of tokens at ${path} cannot be read: ${messageOf(cause)}`, { cause });
  });
  return new Map(parse(path, text).map((token) => [token.id, token]));
}

function parse(path: string, text: string): StoredToken[] {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (cause) {
    throw new Error(`${path} is not JSON`, { cause });
  }
  const parsed = tokenFile.safeParse(raw, parseErrors);
  if (!parsed.success) throw new Error(`${path}: ${explain(parsed.error, 'file')}`);
  return parsed.data.tokens;
}

/** Changes the file as a whole, readable by its owner alone; returns what it then holds. */
export async function editTokens(
  path: string,
  change: (tokens: readonly StoredToken[]) => readonly StoredToken[],
): Promise<readonly StoredToken[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return '{"tokens":[]}';
    throw error;
  });
  const tokens = change(parse(path, text));
  const fresh = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(fresh, `${JSON.stringify({ tokens }, null, 2)}\n`, { mode: 0o600 });
    await rename(fresh, path);
  } finally {
    await rm(fresh, { force: true });
  }
  return tokens;
}
