import { createHash } from 'node:crypto';
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { checkToken, SynodError } from '../../src/client/index.ts';
import { GuardedReport } from './guarded.ts';

/** A piece of a part of the report, as an agent submits it. */
export const piece = z.object({
  taskId: z.string(),
  /** The fencing token of the lease under which it was made. */
  token: z.number(),
  /** The fencing token of the lock under which it is written. */
  lockToken: z.number(),
  place: z.enum(['first', 'middle', 'last']),
  text: z.string(),
});
export type Piece = z.infer<typeof piece>;

/** The last piece, and with it the result. */
export const submission = piece.extend({
  agent: z.string(),
  result: z.object({ sha256: z.string() }).loose(),
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
 * The resources that the agents write to: a folder with a file a result, the report, and the bill of a service that is paid
 * by the call. It knows nothing of leases or agents; all it does is to remember the highest token of each task and of the
 * report, and to refuse whoever comes with an older one.
 */
export class ResultStore {
  readonly #folder: string;
  readonly #tokens = new Map<string, number>();
  readonly #report: GuardedReport;
  #refused = 0;

  constructor(folder: string) {
    this.#folder = folder;
    this.#report = new GuardedReport(folder);
  }

  /** Where the report is. */
  get report(): string {
    return this.#report.path;
  }

  /** Where each paid call leaves a line. */
  get bill(): string {
    return join(this.#folder, 'calls.log');
  }

  /** How often an unfinished part of the report was rolled back. */
  get rollbacks(): number {
    return this.#report.rollbacks;
  }

  /** Somebody begins a task with this token: an older one is refused from now on. */
  begins(taskId: string, token: number): void {
    this.#tokens.set(taskId, Math.max(this.#tokens.get(taskId) ?? 0, token));
  }

  /** Writes a piece. @throws SynodError `stale_token` where a newer holder, of the task or of the report, was there before. */
  add(agent: string, { taskId, token, lockToken, place, text }: Piece): void {
    try {
      try {
        this.#tokens.set(taskId, checkToken(this.#tokens.get(taskId), token));
      } catch (error) {
        // What it has begun must not stay half done.
        this.#report.rollBack(lockToken);
        throw error;
      }
      this.#report.add(lockToken, text, place);
    } catch (error) {
      const [code, reason] = error instanceof SynodError ? [error.code, error.message] : ['unknown', String(error)];
      this.#save(`refused-${this.#refused++}`, { agent, taskId, token, code, reason, at: new Date().toISOString() });
      throw error;
    }
  }

  /** Writes the last piece, pays, and keeps the result. @throws SynodError as {@link add}. */
  write(submitted: Submission): void {
    const { taskId, token, agent } = submitted;
    this.add(agent, submitted);
    appendFileSync(this.bill, `${agent} ${taskId}\n`);
    const digest = createHash('sha256').update(`${taskId} ${token} ${agent}`).digest('hex').slice(0, 24);
    this.#save(`result-${digest}`, submitted);
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
