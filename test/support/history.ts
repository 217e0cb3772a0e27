import type { Client, WorkflowHandle } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import proto from '@temporalio/proto';

export type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
export type Event = NonNullable<History['events']>[number];

/** One run of a workflow. */
export interface Run {
  readonly runId: string;
  readonly events: readonly Event[];
}

/** The histories of all runs, from the first one. The last one may still run. */
export async function runsOf(client: Client, workflowId: string, firstRunId?: string): Promise<Run[]> {
  let runId: string | undefined = firstRunId ?? (await firstRunOf(client, workflowId));
  const runs: Run[] = [];
  while (runId) {
    const events: readonly Event[] = (await client.workflow.getHandle(workflowId, runId).fetchHistory()).events ?? [];
    runs.push({ runId, events });
    runId = events.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? undefined;
  }
  return runs;
}

async function firstRunOf(client: Client, workflowId: string): Promise<string> {
  const { raw } = await client.workflow.getHandle(workflowId).describe();
  const runId = raw.workflowExecutionInfo?.firstRunId;
  if (!runId) throw new Error(`${workflowId} has no first run`);
  return runId;
}

/** The arguments of the signals in some runs, in order. */
export function signalsOf(runs: readonly Run[], name: string): unknown[] {
  return runs.flatMap(({ events }) =>
    events.flatMap(({ workflowExecutionSignaledEventAttributes: signal }) => {
      const payload = signal?.signalName === name ? signal.input?.payloads?.[0] : undefined;
      return payload ? [defaultPayloadConverter.fromPayload<unknown>(payload)] : [];
    }),
  );
}

/** Failed and timed-out workflow tasks, by cause. */
export function failedTasksOf(runs: readonly Run[]): Record<string, number> {
  const causes: Record<string, number> = {};
  for (const { events } of runs) {
    for (const { workflowTaskFailedEventAttributes: failed, workflowTaskTimedOutEventAttributes: timedOut } of events) {
      if (!failed && !timedOut) continue;
      const cause = failed
        ? `cause ${failed.cause}: ${failed.failure?.message ?? ''}`.trim()
        : `timeout ${timedOut?.timeoutType}`;
      causes[cause] = (causes[cause] ?? 0) + 1;
    }
  }
  return causes;
}

export function count(runs: readonly Run[], attributes: keyof Event): number {
  return runs.reduce((n, { events }) => n + events.filter((event) => Boolean(event[attributes])).length, 0);
}

const { History: HistoryType } = proto.temporal.api.history.v1;

/**
 * Events as JSON, and back. The SDK's own `historyToJSON` and `historyFromJSON` fail where npm has installed protobufjs
 * more than once ("type must be a Type").
 */
export function toJson(events: readonly Event[]): object {
  return HistoryType.toObject(HistoryType.fromObject({ events }), { longs: String, enums: String, bytes: String });
}

export function fromJson(history: object): History {
  return HistoryType.fromObject({ ...history });
}
