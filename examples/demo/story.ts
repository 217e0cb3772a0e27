import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { workflowIdOf } from '../../src/envelope/address.ts';
import type { RefusedDirective } from './director.ts';
import { REPORT } from './guarded.ts';
import type { ResultStore } from './store.ts';

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
    coordinator: z.string().optional(),
    epoch: z.number().optional(),
    tokens: z.record(z.string(), z.number()).optional(),
  }),
});
export type Event = z.infer<typeof event>;
const publish = z.object({ publication: z.object({ events: z.array(event) }) });
const received = z.object({ events: z.array(event), next: z.number(), truncated: z.boolean() });

/** Who died or slept when, holding what; who took over after how long; whose late word was refused, and why. From the histories. */
export async function tellStory(
  client: Client,
  room: string,
  mishaps: readonly Mishap[],
  store: ResultStore,
  election: readonly Event[],
  refusedDirectives: readonly RefusedDirective[],
): Promise<string[]> {
  const told: string[] = [];
  for (const { kind, agent, taskId } of mishaps) {
    const events = await historyOf(client, workflowIdOf(room, 'task', taskId)).catch(() => []);
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
  told.push(...ledBy(election));
  for (const { agent, epoch, reason } of refusedDirectives)
    told.push(`${agent} still directed in the name of epoch ${epoch}. It was refused: ${reason}.`);
  told.push(...lockLost(await logOf(client, workflowIdOf(room, 'locks')), store.rollbacks));
  for (const { agent, taskId, at, reason } of store.refusals()) {
    told.push(`At ${at.slice(11, 19)} ${agent} handed in ${taskId} all the same. It was refused: ${reason}.`);
  }
  return told;
}

function ledBy(events: readonly Event[]): string[] {
  const elected = events.filter(({ envelope }) => envelope.type === 'coordinator.elected');
  return elected.map((one, i) => {
    const { coordinator, epoch } = one.envelope;
    const lost = events.find(
      ({ seq, envelope }) =>
        envelope.type === 'coordinator.lost' && seq < one.seq && seq > (elected[i - 1]?.seq ?? one.seq),
    );
    const why = lost ? `; ${lost.envelope.coordinator} had not been heard of` : '';
    return `${coordinator} led from ${clock(one)} on, as number ${epoch}${why}.`;
  });
}

function lockLost(events: readonly Event[], rollbacks: number): string[] {
  return events
    .filter(({ envelope }) => envelope.type === 'lock.expired')
    .map((one) => {
      const { holder, tokens } = one.envelope;
      const next = events.find(({ seq, envelope }) => envelope.type === 'lock.granted' && seq > one.seq);
      return (
        `${holder} lost the lock of the ${REPORT} at ${clock(one)}, token ${tokens?.[REPORT]}` +
        (rollbacks > 0 ? '; what it had half written was taken back' : '') +
        (next ? `, and ${next.envelope.to} wrote next, with token ${next.envelope.tokens?.[REPORT]}.` : '.')
      );
    });
}

/** The log of a task that has ended: its history holds what it told the room. */
async function historyOf(client: Client, workflowId: string): Promise<Event[]> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const told = (events ?? []).flatMap((entry) => {
    const scheduled = entry.activityTaskScheduledEventAttributes;
    const data = scheduled?.activityType?.name === 'synodPublish' ? scheduled.input?.payloads?.[0]?.data : undefined;
    return data ? publish.parse(JSON.parse(Buffer.from(data).toString())).publication.events : [];
  });
  // A repeated activity tells the same again.
  return [...new Map(told.map((one) => [one.seq, one])).values()];
}

/** The log of a workflow that still answers. */
export async function logOf(client: Client, workflowId: string): Promise<Event[]> {
  const handle = client.workflow.getHandle(workflowId);
  const events: Event[] = [];
  for (let after = 0; ;) {
    const args = { agents: ['*'], after, wait_seconds: 0, limit: 200 };
    const page = received.parse(await handle.executeUpdate('receive', { args: [args] }));
    events.push(...page.events);
    if (page.next === after) return events;
    after = page.next;
  }
}

function clock({ envelope }: Event): string {
  return envelope.ts.slice(11, 19);
}

function gap(from: Event, to: Event): string {
  return `${((Date.parse(to.envelope.ts) - Date.parse(from.envelope.ts)) / 1_000).toFixed(1)} s`;
}
