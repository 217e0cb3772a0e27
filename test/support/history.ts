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

/**
 * The histories of all runs, from the first one. The last one may still run.
 * @param pageEvents read at once: few where each may be large, for a client takes 4 MiB at once.
 */
export async function runsOf(
  client: Client,
  workflowId: string,
  firstRunId?: string,
  pageEvents = 1_000,
): Promise<Run[]> {
  let runId: string | undefined = firstRunId ?? (await firstRunOf(client, workflowId));
  const runs: Run[] = [];
  while (runId) {
    const events: readonly Event[] = await eventsOf(client, workflowId, runId, pageEvents);
    runs.push({ runId, events });
    runId = events.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? undefined;
  }
  return runs;
}

/** The events of one run, page by page. */
async function eventsOf(
  { workflowService, options }: Client,
  workflowId: string,
  runId: string,
  maximumPageSize: number,
): Promise<Event[]> {
  const events: Event[] = [];
  let nextPageToken: Uint8Array | undefined;
  do {
    const { namespace } = options;
    const execution = { workflowId, runId };
    const page = await workflowService.getWorkflowExecutionHistory({
      namespace,
      execution,
      maximumPageSize,
      ...(nextPageToken ? { nextPageToken } : {}),
    });
    events.push(...(page.history?.events ?? []));
    nextPageToken = page.nextPageToken?.length > 0 ? page.nextPageToken : undefined;
  } while (nextPageToken);
  return events;
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

/** The causes of failed workflow tasks. One that was only too late, as on a busy machine, is nobody's fault. */
export function faultsOf(runs: readonly Run[]): string[] {
  return Object.keys(failedTasksOf(runs)).filter((cause) => !cause.startsWith('timeout'));
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
