import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { workflowIdOf } from '../../src/envelope/address.ts';
import type { RefusedDirective } from './scenario.ts';
import { REPORT } from './guarded.ts';
import type { ResultStore } from './store.ts';

/** What was done to an agent while it held a task. */
export interface InjectedFault {
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

/**
 * Which agent was killed or stopped when, and what it held; who took over after how long; which late messages were refused,
 * and why. Read from the histories.
 */
export async function describeTimeline(
  client: Client,
  room: string,
  injectedFaults: readonly InjectedFault[],
  store: ResultStore,
  election: readonly Event[],
  refusedDirectives: readonly RefusedDirective[],
): Promise<string[]> {
  const sentences: string[] = [];
  for (const { kind, agent, taskId } of injectedFaults) {
    const events = await historyOf(client, workflowIdOf(room, 'task', taskId)).catch(() => []);
    const ack = events.find(({ envelope }) => envelope.type === 'task.ack' && envelope.to === agent);
    const lost = events.find(({ envelope }) => envelope.type === 'task.expired' && envelope.holder === agent);
    if (!ack || !lost) continue;
    const next = events.find(({ seq, envelope }) => envelope.type === 'task.ack' && seq > lost.seq);
    const end = events.find(({ envelope }) => envelope.type === 'task.completed');
    const outcome = kind === 'kill' ? 'was killed' : 'was stopped';
    sentences.push(
      `${agent} took ${taskId} at ${clock(ack)} with token ${ack.envelope.attempt} and ${outcome} holding it. ` +
        `Its lease ran out at ${clock(lost)}` +
        (next ? `; ${next.envelope.to} took over ${gap(lost, next)} later with token ${next.envelope.attempt}` : '') +
        (end ? `, and ${end.envelope.holder} completed it at ${clock(end)}.` : '.'),
    );
  }
  sentences.push(...leaders(election));
  for (const { agent, epoch, reason } of refusedDirectives)
    sentences.push(`${agent} still issued a directive of epoch ${epoch}. It was refused: ${reason}.`);
  sentences.push(...lockLost(await logOf(client, workflowIdOf(room, 'locks')), store.rollbacks));
  for (const { agent, taskId, at, reason } of store.refusals()) {
    sentences.push(`At ${at.slice(11, 19)} ${agent} still submitted ${taskId}. It was refused: ${reason}.`);
  }
  return sentences;
}

function leaders(events: readonly Event[]): string[] {
  const elected = events.filter(({ envelope }) => envelope.type === 'coordinator.elected');
  return elected.map((one, i) => {
    const { coordinator, epoch } = one.envelope;
    const lost = events.find(
      ({ seq, envelope }) =>
        envelope.type === 'coordinator.lost' && seq < one.seq && seq > (elected[i - 1]?.seq ?? one.seq),
    );
    const why = lost ? `; ${lost.envelope.coordinator} had sent no heartbeat for too long` : '';
    return `${coordinator} led from ${clock(one)} on, in epoch ${epoch}${why}.`;
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
        (rollbacks > 0 ? '; its unfinished part was rolled back' : '') +
        (next ? `, and ${next.envelope.to} wrote next, with token ${next.envelope.tokens?.[REPORT]}.` : '.')
      );
    });
}

/** The log of a task that has ended: its history holds what it published to the room. */
async function historyOf(client: Client, workflowId: string): Promise<Event[]> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const published = (events ?? []).flatMap((entry) => {
    const scheduled = entry.activityTaskScheduledEventAttributes;
    const data = scheduled?.activityType?.name === 'synodPublish' ? scheduled.input?.payloads?.[0]?.data : undefined;
    return data ? publish.parse(JSON.parse(Buffer.from(data).toString())).publication.events : [];
  });
  // A repeated activity publishes the same again.
  return [...new Map(published.map((one) => [one.seq, one])).values()];
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
