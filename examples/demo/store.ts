import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { checkToken, SynodError } from '../../src/client/index.ts';
import { append } from './report.ts';

/** A result as an agent hands it in. */
export const submission = z.object({
  taskId: z.string(),
  /** The fencing token of the lease under which it was made. */
  token: z.number(),
  agent: z.string(),
  result: z.object({ sha256: z.string() }).loose(),
  /** Its part of the report. */
  part: z.string(),
});
export type Submission = z.infer<typeof submission>;

const refusedWrite = z.object({
  agent: z.string(),
  taskId: z.string(),
  token: z.number(),
  code: z.string(),
  reason: z.string(),
  at: z.string(),
});
export type RefusedWrite = z.infer<typeof refusedWrite>;

/**
 * The resource that the agents write to: a folder with a file a result, the report, and the bill of a service that is paid
 * by the call. It knows nothing of leases or agents; all it does is to remember the highest token of each task and to
 * refuse whoever comes with an older one.
 */
export class ResultStore {
  readonly #folder: string;
  readonly #tokens = new Map<string, number>();
  #refused = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Where the report is. */
  get report(): string {
    return join(this.#folder, 'report.md');
  }

  /** Where each paid call leaves a line. */
  get bill(): string {
    return join(this.#folder, 'calls.log');
  }

  /** Pays for and writes a result. @throws SynodError `stale_token` where a newer holder has already written. */
  write({ taskId, token, agent, result, part }: Submission): void {
    try {
      this.#tokens.set(taskId, checkToken(this.#tokens.get(taskId), token));
    } catch (error) {
      const [code, reason] = error instanceof SynodError ? [error.code, error.message] : ['unknown', String(error)];
      this.#save(`refused-${this.#refused++}`, { agent, taskId, token, code, reason, at: new Date().toISOString() });
      throw error;
    }
    append(this.bill, `${agent} ${taskId}\n`);
    append(this.report, part);
    const digest = createHash('sha256').update(`${taskId} ${token} ${agent}`).digest('hex').slice(0, 24);
    this.#save(`result-${digest}`, { taskId, token, agent, result, part });
  }

  /** The results that are there, as the files say. */
  results(): Submission[] {
    return this.#load('result-').map((text) => submission.parse(JSON.parse(text)));
  }

  /** The writes that were refused, as the files say. */
  refusals(): RefusedWrite[] {
    return this.#load('refused-').map((text) => refusedWrite.parse(JSON.parse(text)));
  }

  #save(stem: string, content: object): void {
    writeFileSync(join(this.#folder, `${stem}.json`), JSON.stringify(content));
  }

  #load(prefix: string): string[] {
    const names = readdirSync(this.#folder).filter((file) => file.startsWith(prefix));
    return names.map((file) => readFileSync(join(this.#folder, file), 'utf8'));
  }
}
