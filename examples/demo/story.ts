import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { workflowIdOf } from '../../src/envelope/address.ts';
import type { RefusedWrite } from './store.ts';

/** What was done to an agent while it held a task. */
export interface Mishap {
  readonly kind: 'kill' | 'stop';
  readonly agent: string;
  readonly taskId: string;
}

const event = z.object({
  seq: z.number(),
  envelope: z.object({
    type: z.string(),
    ts: z.string(),
    to: z.string().optional(),
    holder: z.string().optional(),
    attempt: z.number().optional(),
  }),
});
type Event = z.infer<typeof event>;
const publish = z.object({ publication: z.object({ events: z.array(event) }) });

/** Who died or slept when, holding what; who took over after how long; whose late write was refused, and why. From the histories. */
export async function tellStory(
  client: Client,
  room: string,
  mishaps: readonly Mishap[],
  refusals: readonly RefusedWrite[],
): Promise<string[]> {
  const told: string[] = [];
  for (const { kind, agent, taskId } of mishaps) {
    const events = await logOf(client, workflowIdOf(room, 'task', taskId)).catch(() => []);
    const ack = events.find(({ envelope }) => envelope.type === 'task.ack' && envelope.to === agent);
    const lost = events.find(({ envelope }) => envelope.type === 'task.expired' && envelope.holder === agent);
    if (!ack || !lost) continue;
    const next = events.find(({ seq, envelope }) => envelope.type === 'task.ack' && seq > lost.seq);
    const end = events.find(({ envelope }) => envelope.type === 'task.completed');
    const fate = kind === 'kill' ? 'was killed' : 'was stopped';
    told.push(
      `${agent} took ${taskId} at ${clock(ack)} with token ${ack.envelope.attempt} and ${fate} holding it. ` +
        `Its lease ran out at ${clock(lost)}` +
        (next ? `; ${next.envelope.to} took over ${gap(lost, next)} later with token ${next.envelope.attempt}` : '') +
        (end ? `, and ${end.envelope.holder} completed it at ${clock(end)}.` : '.'),
    );
  }
  for (const { agent, taskId, at, reason } of refusals) {
    told.push(`At ${at.slice(11, 19)} ${agent} handed in ${taskId} all the same. It was refused: ${reason}.`);
  }
  return told;
}

/** The log of a task that has ended: its history holds what it told the room. */
async function logOf(client: Client, workflowId: string): Promise<Event[]> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const told = (events ?? []).flatMap((entry) => {
    const scheduled = entry.activityTaskScheduledEventAttributes;
    const data = scheduled?.activityType?.name === 'synodPublish' ? scheduled.input?.payloads?.[0]?.data : undefined;
    return data ? publish.parse(JSON.parse(Buffer.from(data).toString())).publication.events : [];
  });
  // A repeated activity tells the same again.
  return [...new Map(told.map((one) => [one.seq, one])).values()];
}

function clock({ envelope }: Event): string {
  return envelope.ts.slice(11, 19);
}

function gap(from: Event, to: Event): string {
  return `${((Date.parse(to.envelope.ts) - Date.parse(from.envelope.ts)) / 1_000).toFixed(1)} s`;
}
