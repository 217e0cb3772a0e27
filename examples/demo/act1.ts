import { readFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { AGENTS, DOOMED, SLEEPY, type Stage } from './stage.ts';
import { Company } from './company.ts';
import { Crew, type FromAgent } from './crew.ts';
import { Fates, fired, type Fate } from './fates.ts';
import { readReport } from './report.ts';
import { ResultStore } from './store.ts';

/** How an act went, counted from the report and the bill that it left. */
export interface Damage {
  readonly tasks: number;
  /** Files whose part of the report is there and whole. */
  readonly completed: number;
  /** Parts of the report that were written more than once. */
  readonly duplicate_results: number;
  /** Files that have no part in the report. */
  readonly lost: number;
  /** Parts of the report in which another's lines stand. */
  readonly torn: number;
  readonly paid_calls: number;
  /** Calls that were paid for what had been paid for already. */
  readonly wasted_calls: number;
  readonly seconds: number;
}

/** The first act: the same agents, the same work, the same faults, with a chat and good will in Synod's place. */
export async function actWithout(stage: Stage): Promise<Damage> {
  const { files, folder, root } = stage;
  const started = performance.now();
  const store = new ResultStore(folder);
  const fates = new Fates({ [DOOMED]: 'kill', [SLEEPY]: 'stop' }, AGENTS.length, files.length);
  const done = new Map(AGENTS.map((id) => [id, new AbortController()]));
  const company = new Company(AGENTS);
  const hear = async (agent: string, message: FromAgent): Promise<Fate> => {
    if (message.kind !== 'begin') throw new Error(`nobody hears ${message.kind} in the first act`);
    const { taskId } = message;
    company.begins(agent, taskId);
    company.rests(agent);
    // A task of two is not lost with one of them.
    const met = await fates.at(agent, taskId, 1, stage.signal, (fate, signal) =>
      fate === 'kill' ? company.alone(agent, taskId, signal) : Promise.resolve(true),
    );
    if (met === 'go on') company.stirs(agent);
    if (met === 'kill') stage.tell(`${agent} is killed while it does ${taskId}`);
    if (met === 'stop') stage.tell(`${agent} is stopped while it does ${taskId}`);
    if (met !== 'go on') done.get(agent)?.abort();
    else stage.note(`${agent} does ${taskId}`);
    return met;
  };
  const onEnded = (agent: string, how: string, well: boolean) => {
    company.rests(agent);
    if (well) done.get(agent)?.abort();
    else stage.fail(new Error(`${agent} has ended by itself: ${how}`));
  };
  const args = [root, join(folder, 'chat.log'), store.report, store.bill];
  const crew = new Crew({ program: 'loner.ts', args, env: process.env, hear, onEnded });
  stage.cleanUp(() => crew.end());
  for (const id of AGENTS) crew.start(id);
  await stage.until(Promise.all([...done.values()].map(({ signal }) => fired(signal))));
  // The others are done. Whoever was stopped wakes up and finishes what it believes to be its own.
  crew.resume(SLEEPY);
  await stage.until(crew.ended(SLEEPY));
  await crew.end();
  return damage(stage, store, (performance.now() - started) / 1_000);
}

/** What an act has left behind, read from its files. */
export function damage({ files }: Pick<Stage, 'files'>, store: ResultStore, seconds: number): Damage {
  const { begun, whole, torn } = readReport(store.report);
  const parts = [...begun.values()].reduce((sum, n) => sum + n, 0);
  const paid = existsSync(store.bill) ? readFileSync(store.bill, 'utf8').trim().split('\n') : [];
  const paidFor = new Set(paid.map((line) => line.slice(line.indexOf(' ') + 1)));
  return {
    tasks: files.length,
    completed: files.filter(({ label }) => whole.has(label)).length,
    duplicate_results: parts - begun.size,
    lost: files.filter(({ label }) => !begun.has(label)).length,
    torn,
    paid_calls: paid.length,
    wasted_calls: paid.length - paidFor.size,
    seconds: Math.round(seconds * 10) / 10,
  };
}
