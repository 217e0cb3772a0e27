import { roomTarget } from '../../envelope/targets.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';
import { isolated } from '../isolated.ts';
import type { Lease } from '../leases/lease.ts';
import { jittered, pause } from '../timing/timing.ts';
import type { Worker } from './attempt.ts';
import { Candidates, type Candidate } from './candidates.ts';
import { claim } from './claim.ts';
import type { Handler, WorkOptions } from './handler.ts';
import { Pausing } from './pausing.ts';

/** The board is read again so often while there is nothing to do. */
const BOARD_INTERVAL_MS = 30_000;
const DEFAULT_JITTER_SECONDS = 0.25;
/** The worker loop behind `agent.work`. */
export async function work(
  connection: SharedConnection,
  agent: string,
  room: string,
  handler: Handler,
  options: WorkOptions,
): Promise<void> {
  const { signal = new AbortController().signal, concurrency = 1 } = options;
  const candidates = new Candidates(options.capabilities ?? []);
  const pausing = new Pausing();
  const leases = new Map<string, Lease>();
  const { workflowId } = roomTarget(room);
  const board = async () => {
    try {
      await candidates.refresh(async (query) => await pausing.look(() => connection.view(workflowId, query, signal)));
    } catch (error) {
      // Whoever has stopped it does not need the warning.
      if (!signal.aborted) warn(error);
    }
  };
  const stop = connection.readerOf(workflowId).listen({
    agent,
    onEvent: (event) => {
      pausing.note(event);
      candidates.note(event, new Date().toISOString());
      const { type, task_id: taskId } = event.envelope;
      if (type === 'task.cancelled' && typeof taskId === 'string') leases.get(taskId)?.lose('the task was cancelled');
    },
    onGap: () => void board(),
  });
  const report = isolated('onReport', options.onReport);
  const worker = { connection, agent, room, handler, signal, leases, report };
  try {
    await Promise.all(
      Array.from({ length: concurrency }, () => loop({ ...worker, options, candidates, pausing, board })),
    );
  } finally {
    stop();
  }
}

interface Loop extends Worker {
  readonly options: WorkOptions;
  readonly candidates: Candidates;
  readonly pausing: Pausing;
  readonly board: () => Promise<void>;
}

async function loop(context: Loop): Promise<void> {
  const { candidates, pausing, signal } = context;
  while (!signal.aborted) {
    await pausing.over(signal);
    const candidate = candidates.take();
    if (candidate) await attempt(context, candidate).catch(warn);
    else {
      const due = AbortSignal.timeout(Math.ceil(jittered(BOARD_INTERVAL_MS)));
      await candidates.changed(AbortSignal.any([signal, due]));
      if (due.aborted) await context.board();
    }
  }
}

/** Claims a candidate and does it, unless another was first. */
async function attempt(context: Loop, candidate: Candidate): Promise<void> {
  const { options, candidates, pausing, signal } = context;
  const jitterMs = Math.random() * (options.claimJitterSeconds ?? DEFAULT_JITTER_SECONDS) * 1000;
  const unwatch = candidates.watch(candidate);
  const waited = await pause(jitterMs, AbortSignal.any([signal, candidate.gone.signal]));
  unwatch();
  if (!waited) return;
  if (pausing.paused) return candidates.giveBack(candidate);
  const claimed = await claim(context, candidate, options.leaseSeconds);
  await claimed?.attempt.make(claimed.term);
}

function warn(error: unknown): void {
  process.emitWarning(`synod: ${String(error)}`);
}
