import { readFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { AGENTS, KILLED_AGENT, STOPPED_AGENT, type DemoContext } from './context.ts';
import { AgentTracker } from './agentTracker.ts';
import { AgentProcesses, type FromAgent } from './agentProcesses.ts';
import { PlannedOutcomes, fired, type Outcome } from './outcomes.ts';
import { readReport } from './report.ts';
import { ResultStore } from './store.ts';

/** The figures of an act, counted from the report and the bill that it left. */
export interface ActFigures {
  readonly tasks: number;
  /** Files whose part of the report is there and whole. */
  readonly completed: number;
  /** Parts of the report that were written more than once. */
  readonly duplicate_results: number;
  /** Files that have no part in the report. */
  readonly lost: number;
  /** Parts of the report that contain lines of another part. */
  readonly torn: number;
  readonly paid_calls: number;
  /** Calls that were paid for what had been paid for already. */
  readonly wasted_calls: number;
  readonly seconds: number;
}

/** The first act: the same agents, work and faults, with a chat instead of Synod. */
export async function actWithout(context: DemoContext): Promise<ActFigures> {
  const { files, folder, root } = context;
  const started = performance.now();
  const store = new ResultStore(folder);
  const outcomes = new PlannedOutcomes(
    { [KILLED_AGENT]: 'kill', [STOPPED_AGENT]: 'stop' },
    AGENTS.length,
    files.length,
  );
  const done = new Map(AGENTS.map((id) => [id, new AbortController()]));
  const tracker = new AgentTracker(AGENTS);
  const onMessage = async (agent: string, message: FromAgent): Promise<Outcome> => {
    if (message.kind !== 'begin') throw new Error(`${message.kind} is no message of the first act`);
    const { taskId } = message;
    tracker.started(agent, taskId);
    tracker.paused(agent);
    // A task of two is not lost with one of them.
    const met = await outcomes.at(agent, taskId, 1, context.signal, (outcome, signal) =>
      outcome === 'kill' ? tracker.isAlone(agent, taskId, signal) : Promise.resolve(true),
    );
    if (met === 'go on') tracker.resumed(agent);
    if (met === 'kill') context.highlight(`${agent} is killed while it does ${taskId}`);
    if (met === 'stop') context.highlight(`${agent} is stopped while it does ${taskId}`);
    if (met !== 'go on') done.get(agent)?.abort();
    else context.log(`${agent} does ${taskId}`);
    return met;
  };
  const onEnded = (agent: string, how: string, well: boolean) => {
    tracker.paused(agent);
    if (well) done.get(agent)?.abort();
    else context.fail(new Error(`${agent} ended unexpectedly: ${how}`));
  };
  const args = [root, join(folder, 'chat.log'), store.report, store.bill];
  const processes = new AgentProcesses({ program: 'baseline.ts', args, env: process.env, onMessage, onEnded });
  context.cleanUp(() => processes.end());
  for (const id of AGENTS) processes.start(id);
  await context.until(Promise.all([...done.values()].map(({ signal }) => fired(signal))));
  // The others are done. The stopped agent is resumed and finishes what it believes to be its own.
  processes.resume(STOPPED_AGENT);
  await context.until(processes.ended(STOPPED_AGENT));
  await processes.end();
  return figuresOf(context, store, (performance.now() - started) / 1_000);
}

/** What an act has left behind, read from its files. */
export function figuresOf({ files }: Pick<DemoContext, 'files'>, store: ResultStore, seconds: number): ActFigures {
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
