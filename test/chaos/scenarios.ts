import type { Client } from '@temporalio/client';
import type { Event } from '../support/history.ts';
import { retried, say, Wire } from '../support/wire.ts';
import { countersOf, storm, type StormReport } from './storm.ts';

/** Far above what a run should reach (it hands over past 3,000 events), far below the server's limits (10,000 signals, 51,200 events). */
const MAX_RUN_EVENTS = 12_000;

export interface Size {
  readonly senders: number;
  readonly seconds: number;
}

export type Outcome = StormReport & { readonly problems: readonly string[] };

/** Everybody posts to one room: every post acknowledged is in the log once, and the room lives. */
export async function stormRoom(clients: readonly Client[], name: string, size: Size): Promise<Outcome> {
  const wire = Wire.room(first(clients), name);
  await wire.ask(say('room.join', 'sender-0', { kind: 'agent', purpose: 'storms' }));
  const { chain, ...report } = await storm(wire, clients, {
    ...size,
    message: (from) => say('room.post', from, { text: 'wind' }),
  });
  const problems = common(report);
  const view = await wire.view();
  const head = headOf(view);
  // The join, then the posts: what is only accepted is answered and not logged.
  const expected = 1 + report.inHistories;
  if (head !== expected) problems.push(`the log's head is ${head}, not ${expected}`);
  const accepted = countersOf(view)['accepted'];
  if (accepted !== report.inHistories + 1) problems.push(`${accepted} accepted of ${report.inHistories + 1}`);
  problems.push(...gaps(await retried(() => wire.log())));
  problems.push(...handedOver(chain.map(({ events }) => events)));
  return { ...report, problems };
}

/** Everybody claims a task that is held: nobody gets it, its holder keeps it, renews and completes it. */
export async function stormHeldTask(clients: readonly Client[], name: string, size: Size): Promise<Outcome> {
  const wire = Wire.task(first(clients), name, 'held');
  await wire.ask(say('task.announce', 'producer', { task_id: 'held', title: 'held', lease_seconds: 3_600 }));
  await wire.ask(say('task.claim', 'holder', { task_id: 'held' }));
  const { chain, ...report } = await storm(wire, clients, {
    ...size,
    message: (from) => say('task.claim', from, { task_id: 'held' }),
  });
  const problems = common(report);
  const view = await wire.view();
  if (view['holder'] !== 'holder' || view['attempt'] !== 1)
    problems.push(`held by ${String(view['holder'])}, attempt ${String(view['attempt'])}`);
  // A losing claim is decided but not logged.
  const accepted = countersOf(view)['accepted'];
  if (accepted !== report.inHistories + 2) problems.push(`${accepted} decided of ${report.inHistories + 2}`);
  // The announcement, the claim, its ack, and for the room that the task is claimed.
  if (headOf(view) !== 4) problems.push(`the log's head is ${headOf(view)}, not 4`);
  problems.push(...handedOver(chain.map(({ events }) => events)));
  for (const [type, answer] of [
    ['task.renew', 'task.renewed'],
    ['task.complete', 'task.completed'],
  ] as const) {
    const message = say(type, 'holder', { task_id: 'held', attempt: 1 });
    // The run may hand over yet.
    const [reply] = await retried(() => wire.ask(message));
    if (reply?.type !== answer) problems.push(`${type} was answered ${JSON.stringify(reply)}`);
  }
  return { ...report, problems };
}

function first(clients: readonly Client[]): Client {
  const [client] = clients;
  if (!client) throw new Error('a storm needs a client');
  return client;
}

function common(report: StormReport): string[] {
  const problems: string[] = [];
  if (report.acknowledged === 0) problems.push('no signal was acknowledged');
  if (report.lost > 0) problems.push(`${report.lost} acknowledged signals are in no history`);
  if (report.twice > 0) problems.push(`${report.twice} signals are in the histories twice`);
  if (report.longestRun > MAX_RUN_EVENTS) problems.push(`a run has ${report.longestRun} events`);
  return problems;
}

function headOf(view: Record<string, unknown>): number {
  const { log } = view;
  return typeof log === 'object' && log !== null && 'head' in log ? Number(log.head) : -1;
}

/** The kept part of a log must be numbered without gaps. */
export function gaps(events: readonly { readonly seq: number }[]): string[] {
  const at = events.findIndex(({ seq }, i) => i > 0 && seq !== (events[i - 1]?.seq ?? 0) + 1);
  return at < 0 ? [] : [`seq ${events[at - 1]?.seq} is followed by ${events[at]?.seq}`];
}

/** Every run but the last must have gone on in a new one, and the last must still run. */
function handedOver(chain: readonly (readonly Event[])[]): string[] {
  const bad = chain.slice(0, -1).filter((events) => !events.at(-1)?.workflowExecutionContinuedAsNewEventAttributes);
  const end = chain.at(-1)?.at(-1);
  const dead = end?.workflowExecutionFailedEventAttributes ?? end?.workflowExecutionTerminatedEventAttributes;
  return [
    ...(bad.length > 0 ? [`${bad.length} runs did not hand over`] : []),
    ...(dead ? ['the workflow has ended'] : []),
  ];
}
