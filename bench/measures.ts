import { WithStartWorkflowOperation } from '@temporalio/client';
import { workflowIdOf } from '../src/envelope/address.ts';
import { runsOf } from '../test/support/history.ts';
import type { AgentPool } from './agentPool.ts';
import type { Order, Outcome } from './orders.ts';
import type { Site } from './services.ts';

/** The figures of a load. Milliseconds; operations a second. */
export interface Load {
  readonly processes: number;
  readonly agents: number;
  readonly ops: number;
  readonly per_second: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly max_ms: number;
  readonly errors: number;
  readonly errors_by_cause: Record<string, number>;
  readonly retries: number;
  readonly retries_by_cause: Record<string, number>;
  /** Events in the workflow's histories for each operation. */
  readonly events_per_op: number;
  readonly runs: number;
}

/** A bare workflow never continues as new, so it must stay below the 2,000 updates of a run. */
const MAX_BARE_UPDATES = 1_500;
/** No load may go on for ever. */
const MAX_OPS = 100_000;

export async function bareLoad(
  site: Site,
  pool: AgentPool,
  { seconds, processes }: { seconds: number; processes: number },
): Promise<Load> {
  const workflowId = unique('bare');
  await site.client.workflow.start('bare', { workflowId, taskQueue: 'bare' });
  const maxOps = Math.floor(MAX_BARE_UPDATES / processes);
  const order: Order = { kind: 'bare', address: site.server.address, workflowId, seconds, maxOps };
  const outcomes = await pool.run(Array.from({ length: processes }, () => order));
  return await loadOf(site, workflowId, outcomes, processes);
}

export async function postLoad(
  site: Site,
  pool: AgentPool,
  load: { seconds: number; processes: number; agents: number; listen: boolean; hub?: { url: string; token: string } },
): Promise<Load> {
  const { processes, ...each } = load;
  const room = unique('room');
  const orders = Array.from({ length: processes }, (_, i): Order => {
    return { kind: 'post', address: site.server.address, room, name: `p${i}`, maxOps: MAX_OPS, ...each };
  });
  return await loadOf(site, workflowIdOf(room, 'room'), await pool.run(orders), processes * load.agents);
}

export interface LockLoad {
  readonly seconds: number;
  readonly processes: number;
  /** Of all processes, spread over them. */
  readonly agents: number;
  /** All want one lock; otherwise each has its own. */
  readonly shared: boolean;
  readonly hub?: { readonly url: string; readonly token: string };
}

/** Locks taken and freed in a room; `beside` runs meanwhile, for that room. */
export async function lockLoad(
  site: Site,
  pool: AgentPool,
  { processes, agents, ...each }: LockLoad,
  beside: (room: string) => Promise<() => Promise<void>> = () => Promise.resolve(() => Promise.resolve()),
): Promise<Load> {
  const room = unique('locks');
  // The room is there before whatever reads it.
  await firstUpdate(site, 'synod', workflowIdOf(room, 'room'), room);
  await site.client.workflow.start('lockManager', {
    workflowId: workflowIdOf(room, 'locks'),
    taskQueue: 'synod',
    args: [{ room, config: { max_waits: 2 * processes + 1 } }],
  });
  const end = await beside(room);
  try {
    const orders = Array.from({ length: processes }, (_, i): Order => {
      const share = Math.floor(((i + 1) * agents) / processes) - Math.floor((i * agents) / processes);
      return {
        kind: 'lock',
        address: site.server.address,
        room,
        name: `p${i}`,
        agents: share,
        maxOps: MAX_OPS,
        ...each,
      };
    });
    return await loadOf(site, workflowIdOf(room, 'locks'), await pool.run(orders), agents);
  } finally {
    await end();
  }
}

/** Events a minute that a room's history gains while some processes wait for its events. */
export async function idleEvents(site: Site, pool: AgentPool, readers: number, seconds: number): Promise<number> {
  const room = unique(`idle-${readers}`);
  const workflowId = workflowIdOf(room, 'room');
  await firstUpdate(site, 'synod', workflowId, room);
  const running = pool.run(
    Array.from({ length: readers }, () => ({ kind: 'idle', address: site.server.address, room, seconds })),
  );
  const before = await eventsOf(site, workflowId);
  await running;
  // What the readers' coming costs is in it, once; what their going costs is not.
  return ((await eventsOf(site, workflowId)).events - before.events) * (60 / seconds);
}

/** Milliseconds of the first update of a new workflow: one on a new worker, and the median of some on a warm one. */
export async function coldStart(
  site: Site,
  queue: 'synod' | 'bare',
  warm: number,
): Promise<{ cold: number; warm: number }> {
  const stop = await site.work(queue);
  const one = async () => {
    const room = unique('cold');
    return await firstUpdate(site, queue, queue === 'synod' ? workflowIdOf(room, 'room') : room, room);
  };
  const cold = await one();
  const rest: number[] = [];
  for (let i = 0; i < warm; i++) rest.push(await one());
  await stop();
  return { cold, warm: quantile(rest.sort(ascending), 0.5) };
}

async function firstUpdate(site: Site, queue: 'synod' | 'bare', workflowId: string, room: string): Promise<number> {
  const at = performance.now();
  const startWorkflowOperation = new WithStartWorkflowOperation(queue === 'synod' ? 'room' : 'bare', {
    workflowId,
    taskQueue: queue,
    args: queue === 'synod' ? [{ room }] : [],
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
  const post = { type: 'room.post', id: 'm-1', from: 'bench', ts: '', text: 'first' };
  await site.client.workflow.executeUpdateWithStart(queue === 'synod' ? 'request' : 'ask', {
    args: [queue === 'synod' ? [post] : 'first'],
    startWorkflowOperation,
  });
  return performance.now() - at;
}

async function loadOf(site: Site, workflowId: string, outcomes: readonly Outcome[], agents: number): Promise<Load> {
  const latencies = outcomes.flatMap((outcome) => outcome.latencies).sort(ascending);
  const errors = merged(outcomes.map((outcome) => outcome.errors));
  const retries = merged(outcomes.map((outcome) => outcome.retries));
  const { events, runs } = await eventsOf(site, workflowId);
  return {
    processes: outcomes.length,
    agents,
    ops: latencies.length,
    per_second: outcomes.reduce((sum, outcome) => sum + outcome.latencies.length / outcome.seconds, 0),
    p50_ms: quantile(latencies, 0.5),
    p99_ms: quantile(latencies, 0.99),
    max_ms: latencies.at(-1) ?? Number.NaN,
    errors: total(errors),
    errors_by_cause: errors,
    retries: total(retries),
    retries_by_cause: retries,
    events_per_op: events / Math.max(1, latencies.length),
    runs,
  };
}

async function eventsOf(site: Site, workflowId: string): Promise<{ events: number; runs: number }> {
  const runs = await runsOf(site.client, workflowId);
  return { events: runs.reduce((sum, { events }) => sum + events.length, 0), runs: runs.length };
}

export function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

export const ascending = (a: number, b: number): number => a - b;

function merged(counts: readonly Record<string, number>[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const one of counts) for (const [key, n] of Object.entries(one)) sum[key] = (sum[key] ?? 0) + n;
  return sum;
}

function total(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, n) => sum + n, 0);
}

let issued = 0;
export function unique(name: string): string {
  return `${name}-${process.pid}-${(issued += 1)}`;
}
