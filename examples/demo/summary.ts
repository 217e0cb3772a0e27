import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { workflowIdOf } from '../../src/envelope/address.ts';
import type { Act2 } from './act2.ts';
import type { RefusedDirective } from './scenario.ts';
import type { InputFile } from './files.ts';
import type { ResultStore } from './store.ts';
import type { Event } from './timeline.ts';

/** The barrier at the end, and the proposal that is decided after it. */
export const PHASE = 'all parts are written';
export const DECISION = 'publish the report';

/** The last line of the demo. */
export interface Summary {
  readonly tasks: number;
  readonly completed: number;
  readonly duplicate_results: number;
  readonly reassigned: number;
  readonly refused_stale: number;
  /** How many coordinators were elected. */
  readonly epochs: number;
  readonly stale_directives_refused: number;
  /** How often the unfinished part of a lost holder of the report's lock was rolled back. */
  readonly rolled_back: number;
  /** Who did not check in at the barrier. */
  readonly barrier_dropped: readonly string[];
  /** What the quorum decided: `yes`, `no`, or why there was no decision. */
  readonly decision: string;
  readonly seconds: number;
}

const closed = z.object({
  outcome: z.object({
    type: z.string(),
    attempt: z.number().optional(),
    dropped: z.array(z.string()).optional(),
    choice: z.string().optional(),
    reason: z.string().optional(),
  }),
});

/** The results: from the folder of results, and from the outcome of each task. */
export async function summarise(
  client: Client,
  room: string,
  files: readonly InputFile[],
  store: ResultStore,
  election: readonly Event[],
  refusedDirectives: readonly RefusedDirective[],
  seconds: number,
): Promise<Summary> {
  const outcomes = await Promise.all(
    files.map(
      async ({ taskId }) =>
        closed.parse(await client.workflow.getHandle(workflowIdOf(room, 'task', taskId)).result()).outcome,
    ),
  );
  // These two still linger.
  const outcomeOf = async (kind: 'barrier' | 'proposal', name: string) =>
    closed.parse(await client.workflow.getHandle(workflowIdOf(room, kind, name)).query('view')).outcome;
  const barrier = await outcomeOf('barrier', PHASE);
  const decision = await outcomeOf('proposal', DECISION);
  const results = store.results();
  const written = new Set(results.map(({ taskId }) => taskId));
  return {
    tasks: files.length,
    completed: files.filter(({ taskId }, i) => written.has(taskId) && outcomes[i]?.type === 'task.completed').length,
    duplicate_results: results.length - written.size,
    reassigned: outcomes.filter(({ attempt }) => attempt !== undefined && attempt > 1).length,
    refused_stale: store.refusals().filter(({ code }) => code === 'stale_token').length,
    epochs: election.filter(({ envelope }) => envelope.type === 'coordinator.elected').length,
    stale_directives_refused: refusedDirectives.filter(({ reason }) => reason.includes('stale_epoch')).length,
    rolled_back: store.rollbacks,
    barrier_dropped: barrier.dropped ?? [],
    decision: decision.choice ?? decision.reason ?? decision.type,
    seconds: Math.round(seconds * 10) / 10,
  };
}

/** What is wrong with the second act; empty where everything is as it must be. */
export function faults({ summary, figures, interfered }: Act2): string[] {
  const { tasks, completed, duplicate_results: duplicates, reassigned, refused_stale: refused } = summary;
  const { lost, torn, wasted_calls: wasted } = figures;
  const always = [
    ...(completed === tasks ? [] : [`${tasks - completed} of ${tasks} tasks were not completed with a result`]),
    ...(duplicates === 0 && figures.duplicate_results === 0
      ? []
      : [`${Math.max(duplicates, figures.duplicate_results)} results were written twice`]),
    ...(lost === 0 ? [] : [`${lost} files have no part in the report`]),
    ...(torn === 0 ? [] : [`${torn} parts of the report are torn`]),
    ...(wasted === 0 ? [] : [`${wasted} calls were paid for twice`]),
    ...(summary.decision === 'yes' ? [] : [`it was not decided to publish the report, but: ${summary.decision}`]),
  ];
  if (interfered) return always;
  return [
    ...always,
    ...(reassigned >= 2 ? [] : [`only ${reassigned} tasks were taken over from a lost agent, not 2`]),
    ...(refused >= 1 ? [] : ['no late write was refused']),
    ...(summary.epochs >= 3 ? [] : [`only ${summary.epochs} coordinators were elected, not 3`]),
    ...(summary.stale_directives_refused >= 1 ? [] : ['no stale directive was refused']),
    ...(summary.rolled_back >= 1 ? [] : ['nothing was rolled back']),
    ...(summary.barrier_dropped.length >= 1 ? [] : ['nobody was dropped at the barrier']),
  ];
}
