import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { workflowIdOf } from '../../src/envelope/address.ts';
import type { InputFile } from './files.ts';
import type { ResultStore } from './store.ts';

/** The last line of the demo. */
export interface Summary {
  readonly tasks: number;
  readonly completed: number;
  readonly duplicate_results: number;
  readonly reassigned: number;
  readonly refused_stale: number;
  readonly seconds: number;
}

const closed = z.object({ outcome: z.object({ type: z.string(), attempt: z.number().optional() }) });

/** What really happened: from the folder of results, and from how the history of each task ends. */
export async function summarise(
  client: Client,
  room: string,
  files: readonly InputFile[],
  store: ResultStore,
  seconds: number,
): Promise<Summary> {
  const outcomes = await Promise.all(
    files.map(
      async ({ taskId }) =>
        closed.parse(await client.workflow.getHandle(workflowIdOf(room, 'task', taskId)).result()).outcome,
    ),
  );
  const results = store.results();
  const written = new Set(results.map(({ taskId }) => taskId));
  return {
    tasks: files.length,
    completed: files.filter(({ taskId }, i) => written.has(taskId) && outcomes[i]?.type === 'task.completed').length,
    duplicate_results: results.length - written.size,
    reassigned: outcomes.filter(({ attempt }) => attempt !== undefined && attempt > 1).length,
    refused_stale: store.refusals().filter(({ code }) => code === 'stale_token').length,
    seconds: Math.round(seconds * 10) / 10,
  };
}

/** What is wrong with a summary; nothing where all is as promised. */
export function faults(summary: Summary): string[] {
  const { tasks, completed, duplicate_results: duplicates, reassigned, refused_stale: refused } = summary;
  return [
    ...(completed === tasks ? [] : [`${tasks - completed} of ${tasks} tasks were not completed with a result`]),
    ...(duplicates === 0 ? [] : [`${duplicates} results were written twice`]),
    ...(reassigned >= 2 ? [] : [`only ${reassigned} tasks were taken over from a lost agent, not 2`]),
    ...(refused >= 1 ? [] : ['no late write was refused']),
  ];
}
