import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { workflowIdOf } from '../../src/envelope/address.ts';
import type { Act2 } from './act2.ts';
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

/** What is wrong with the second act; nothing where all is as promised. */
export function faults({ summary, damage, interfered }: Act2): string[] {
  const { tasks, completed, duplicate_results: duplicates, reassigned, refused_stale: refused } = summary;
  const { lost, torn, wasted_calls: wasted } = damage;
  return [
    ...(completed === tasks ? [] : [`${tasks - completed} of ${tasks} tasks were not completed with a result`]),
    ...(duplicates === 0 && damage.duplicate_results === 0
      ? []
      : [`${Math.max(duplicates, damage.duplicate_results)} results were written twice`]),
    ...(lost === 0 ? [] : [`${lost} files have no part in the report`]),
    ...(torn === 0 ? [] : [`${torn} parts of the report are torn`]),
    ...(wasted === 0 ? [] : [`${wasted} calls were paid for nothing`]),
    ...(reassigned >= 2 || interfered ? [] : [`only ${reassigned} tasks were taken over from a lost agent, not 2`]),
    ...(refused >= 1 || interfered ? [] : ['no late write was refused']),
  ];
}
