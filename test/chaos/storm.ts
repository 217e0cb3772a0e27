import type { Client } from '@temporalio/client';
import { count, failedTasksOf, runsOf, signalsOf, type Run } from '../support/history.ts';
import { say, type Envelope, type Wire } from '../support/wire.ts';

export interface StormOptions {
  /** Senders, each over one of the clients in turn. */
  readonly senders: number;
  readonly seconds: number;
  /** The message that a sender sends. */
  readonly message: (sender: string) => Envelope;
}

/** What the storm came to; `lost` and `twice` must be 0. */
export interface StormReport {
  readonly acknowledged: number;
  /** Calls that the server refused, by its reason; they may still have arrived. */
  readonly refusedByServer: Record<string, number>;
  readonly inHistories: number;
  /** Acknowledged by the server, and in no run's history. */
  readonly lost: number;
  readonly twice: number;
  readonly perSecond: number;
  readonly runs: number;
  readonly longestRun: number;
  readonly workflowTasks: number;
  readonly failedTasks: Record<string, number>;
  /** From the last signal until the workflow had answered a view that counts them all, in milliseconds. */
  readonly caughtUpMs: number;
  /** A request after the storm, in milliseconds. */
  readonly answeredMs: number;
  readonly counters: Record<string, number>;
}

/** Signals one workflow from all senders without pause, and accounts for every signal. The workflow must be running. */
export async function storm(
  wire: Wire,
  via: readonly Client[],
  options: StormOptions,
): Promise<StormReport & { chain: Run[] }> {
  const [main] = via;
  if (!main) throw new Error('a storm needs a client');
  const before = received(await wire.view());
  const acknowledged = new Set<string>();
  const refusedByServer: Record<string, number> = {};
  const end = Date.now() + options.seconds * 1000;
  const started = Date.now();
  await Promise.all(
    Array.from({ length: options.senders }, async (_, i) => {
      const handle = (via[i % via.length] ?? main).workflow.getHandle(wire.workflowId);
      while (Date.now() < end) {
        const message = options.message(`sender-${i}`);
        try {
          await handle.signal('envelope', message);
          acknowledged.add(message.id);
        } catch (error) {
          const why = String(error instanceof Error ? (error.cause ?? error) : error).slice(0, 120);
          refusedByServer[why] = (refusedByServer[why] ?? 0) + 1;
        }
      }
    }),
  );
  const stopped = Date.now();
  await caughtUp(wire, before + acknowledged.size, 120_000);
  const caughtUpMs = Date.now() - stopped;
  const asked = Date.now();
  await answers(wire);
  const answeredMs = Date.now() - asked;

  const chain = await runsOf(main, wire.workflowId);
  const signals = signalsOf(chain, 'envelope').map(idOf);
  const seen = new Set(signals);
  return {
    acknowledged: acknowledged.size,
    refusedByServer,
    inHistories: signals.length,
    lost: [...acknowledged].filter((id) => !seen.has(id)).length,
    twice: signals.length - seen.size,
    perSecond: Math.round((acknowledged.size * 1000) / (stopped - started)),
    runs: chain.length,
    longestRun: Math.max(...chain.map(({ events }) => events.length)),
    workflowTasks: count(chain, 'workflowTaskCompletedEventAttributes'),
    failedTasks: failedTasksOf(chain),
    caughtUpMs,
    answeredMs,
    counters: countersOf(await wire.view()),
    chain,
  };
}

function idOf(signal: unknown): string {
  return typeof signal === 'object' && signal !== null && 'id' in signal ? String(signal.id) : JSON.stringify(signal);
}

export function countersOf(view: Record<string, unknown>): Record<string, number> {
  const { counters } = view;
  if (typeof counters !== 'object' || counters === null) return {};
  return Object.fromEntries(Object.entries(counters).map(([name, n]) => [name, Number(n)]));
}

function received(view: Record<string, unknown>): number {
  return countersOf(view)['received'] ?? 0;
}

/** There is no event for "all signals handled", only the counter. */
async function caughtUp(wire: Wire, total: number, withinMs: number): Promise<void> {
  const until = Date.now() + withinMs;
  for (;;) {
    const now = await wire.view().then(received, () => -1);
    if (now >= total) return;
    if (Date.now() > until)
      throw new Error(`${wire.workflowId} has handled ${now} of ${total} after ${withinMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** A request is answered; what comes in a hand-over is sent again, as the contract says. */
async function answers(wire: Wire): Promise<void> {
  const until = Date.now() + 60_000;
  for (;;) {
    try {
      await wire.request(say('no.such_type', 'after-the-storm'));
      return;
    } catch (error) {
      if (Date.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
