import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { checkToken, type LockOptions, type Room } from '../../src/client/index.ts';

const visit = z.object({ who: z.string(), token: z.number(), line: z.string().optional() });
const answer = z.object({ lines: z.number(), enough: z.boolean(), refused: z.string().optional() });
export type Visit = z.infer<typeof visit>;
type Answer = z.infer<typeof answer>;

/**
 * A file that is written through a guard alone, which refuses whoever comes with an older fencing token than it has seen.
 * A reader shows its token, too: what it reads, no earlier holder changes any more.
 */
export class Guard {
  /** Who was refused, with what. */
  readonly refused: Visit[] = [];
  /** Called at each visit before it is answered. */
  onVisit: (visit: Visit) => void = () => undefined;
  /** The writers end when they read this. */
  enough = false;
  readonly #path: string;
  readonly #server: Server;
  #seen: number | undefined;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(path: string) {
    this.#path = path;
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        void this.visit(visit.parse(JSON.parse(Buffer.concat(chunks).toString()))).then((seen) =>
          response.end(JSON.stringify(seen)),
        );
      });
    });
  }

  static async open(path: string): Promise<Guard> {
    await writeFile(path, '');
    const guard = new Guard(path);
    await new Promise<void>((resolve) => guard.#server.listen(0, '127.0.0.1', resolve));
    return guard;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the guard does not listen');
    return address.port;
  }

  /** One after the other: the check and the write are one step. */
  async visit(seen: Visit): Promise<Answer> {
    const answered = this.#last.then(() => this.#decide(seen));
    this.#last = answered;
    return await answered;
  }

  /** The lines of the file. */
  async lines(): Promise<string[]> {
    return (await readFile(this.#path, 'utf8')).split('\n').filter((line) => line !== '');
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.#last;
  }

  async #decide(seen: Visit): Promise<Answer> {
    this.onVisit(seen);
    try {
      this.#seen = checkToken(this.#seen, seen.token);
      if (seen.line !== undefined) await appendFile(this.#path, `${seen.line}\n`);
      return { lines: (await this.lines()).length, enough: this.enough };
    } catch (error) {
      this.refused.push(seen);
      return { lines: -1, enough: this.enough, refused: String(error) };
    }
  }
}

/** Reads how many lines there are, and writes the next one, under a lock each time; it writes even when its lease is over. */
export async function writeOn(room: Room, resource: string, options: LockOptions, port: number): Promise<void> {
  const { agent: who } = room;
  for (let enough = false; !enough;) {
    try {
      await room.lock([resource], options, async ({ tokens }) => {
        const token = tokens[resource] ?? 0;
        const read = await visited(port, { who, token });
        ({ enough } = read);
        await pause(5);
        // A writer that has read `enough` writes no more, so what a test has seen then is final.
        if (!enough && read.refused === undefined)
          await visited(port, { who, token, line: `${read.lines + 1} ${token} ${who}` });
      });
    } catch (error) {
      console.log(`lost: ${String(error)}`);
    }
  }
}

async function visited(port: number, body: Visit): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: JSON.stringify(body) });
  return answer.parse(await response.json());
}
