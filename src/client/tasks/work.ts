import { z } from 'zod';
import type { Envelope } from '../../envelope/envelope.ts';
import { json, type Json } from '../../envelope/fields.ts';
import { taskMessages, type TaskMessage } from '../../envelope/task.ts';
import { isolated } from '../isolated.ts';
import { reasonOf } from '../messages/answers.ts';
import { Candidates, type Candidate } from './candidates.ts';
import { compose } from '../messages/compose.ts';
import { TaskFailure, type Handler, type WorkOptions, type WorkReport } from './handler.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';
import { Lease } from '../leases/lease.ts';
import { termOf } from '../leases/term.ts';
import { Pausing } from './pausing.ts';
import { roomTarget, taskTarget } from '../../envelope/targets.ts';
import { jittered, parting, pause } from '../timing/timing.ts';

/** The board is read again so often while there is nothing to do. */
const BOARD_INTERVAL_MS = 30_000;
const DEFAULT_JITTER_SECONDS = 0.25;
/** What is left of an envelope's 16 KiB for a result, beside the names and ids around it. */
const MAX_RESULT_BYTES = 14_000;

const ack = z.looseObject({ type: z.literal('task.ack'), attempt: z.number(), lease_seconds: z.number() });
const details = z.object({ title: z.string(), input: json.optional(), omitted: z.array(z.string()).optional() });

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
      // What is stopped is told nothing any more.
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
  try {
    await Promise.all(
      Array.from({ length: concurrency }, () =>
        loop({ connection, agent, room, handler, options, candidates, pausing, leases, signal, board }),
      ),
    );
  } finally {
    stop();
  }
}

interface Loop {
  readonly connection: SharedConnection;
  readonly agent: string;
  readonly room: string;
  readonly handler: Handler;
  readonly options: WorkOptions;
  readonly candidates: Candidates;
  readonly pausing: Pausing;
  readonly leases: Map<string, Lease>;
  readonly signal: AbortSignal;
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

/** Claims a candidate and does it; stands down where another was first. */
async function attempt(context: Loop, candidate: Candidate): Promise<void> {
  const { connection, agent, room, options, candidates, pausing, signal } = context;
  const jitterMs = Math.random() * (options.claimJitterSeconds ?? DEFAULT_JITTER_SECONDS) * 1000;
  const unwatch = candidates.watch(candidate);
  const waited = await pause(jitterMs, AbortSignal.any([signal, candidate.gone.signal]));
  unwatch();
  if (!waited) return;
  if (pausing.paused) return candidates.giveBack(candidate);
  const target = taskTarget(room, candidate.task_id);
  const askedAt = performance.now();
  const claim = compose(taskMessages['task.claim'], agent, {
    type: 'task.claim',
    task_id: candidate.task_id,
    lease_seconds: options.leaseSeconds,
  });
  const answers = await parting(signal, async (end) => await connection.send(target, claim, end));
  // The ack is always the first reply; whatever else comes first says that somebody else was.
  const won = ack.safeParse(answers?.[0]);
  if (won.success) await hold(context, candidate, won.data, askedAt);
}

async function hold(context: Loop, candidate: Candidate, won: z.infer<typeof ack>, askedAt: number): Promise<void> {
  const { connection, agent, room, options, leases, signal } = context;
  const { task_id } = candidate;
  const token = won.attempt;
  const send = async (
    type: 'task.renew' | 'task.complete' | 'task.fail' | 'task.release',
    fields: object = {},
    end?: AbortSignal,
  ): Promise<readonly Envelope[]> => {
    const schema: z.ZodType<TaskMessage> = taskMessages[type];
    const message = compose(schema, agent, { type, task_id, attempt: token, ...fields });
    return await connection.send(taskTarget(room, task_id), message, end);
  };
  const lease = new Lease(termOf({ id: '', from: '', ts: '', ...won }, askedAt), () =>
    send('task.renew', { lease_seconds: options.leaseSeconds }),
  );
  leases.set(task_id, lease);
  const onReport = isolated('onReport', options.onReport);
  const report = (kind: WorkReport['kind'], reason = '') =>
    onReport(kind === 'failed' || kind === 'lost' ? { kind, task_id, token, reason } : { kind, task_id, token });
  try {
    // A claim that was answered after the end is handed back as it came.
    if (!signal.aborted) report('started');
    const ended = signal.aborted ? UNBEGUN : await run(context, candidate, lease, token);
    if (lease.lost) return report('lost', String(lease.signal.reason));
    const { leftMs } = lease;
    lease.close();
    const released = signal.aborted && ended.kind === 'failed' && ended.retry;
    // A result is worth the whole lease, also to a worker that is stopped; what is handed back comes free by itself.
    const answers = await parting(
      signal,
      async (end) => await say(send, ended, released, end),
      released ? undefined : leftMs,
    );
    const [answer] = answers ?? [];
    const kind = !answers || answer?.type === 'error' ? 'lost' : released ? 'released' : ended.kind;
    report(kind, kind === 'lost' ? reasonOf(answer) : ended.kind === 'failed' ? ended.reason : '');
  } finally {
    lease.close();
    leases.delete(task_id);
  }
}

type Ended =
  | { readonly kind: 'completed'; readonly result: Json | undefined }
  | { readonly kind: 'failed'; readonly reason: string; readonly retry: boolean };

const UNBEGUN: Ended = { kind: 'failed', reason: 'the worker was stopped before it began', retry: true };

/** Runs the handler; whatever it does, it comes to an end. */
async function run(
  { connection, room, handler, signal }: Loop,
  candidate: Candidate,
  lease: Lease,
  token: number,
): Promise<Ended> {
  try {
    const { task_id } = candidate;
    const task = await describe(connection, room, candidate, lease.signal);
    const result = await handler({
      room,
      task_id,
      title: task.title,
      input: task.input,
      token,
      signal: AbortSignal.any([lease.signal, signal]),
    });
    const unfit = resultFault(result);
    return unfit === undefined
      ? { kind: 'completed', result: result ?? undefined }
      : { kind: 'failed', reason: unfit, retry: false };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return {
      kind: 'failed',
      // Cut and mended so that no half of a character is left, which no envelope may hold.
      reason: (reason || 'failed').slice(0, 1_000).replace(/\p{Surrogate}/gu, '\ufffd'),
      retry: error instanceof TaskFailure ? error.retry : true,
    };
  }
}

/** Says how it ended, once: the message keeps its id however often it has to be sent. */
async function say(
  send: (
    type: 'task.complete' | 'task.fail' | 'task.release',
    fields: object,
    end: AbortSignal,
  ) => Promise<readonly Envelope[]>,
  ended: Ended,
  released: boolean,
  end: AbortSignal,
): Promise<readonly Envelope[]> {
  if (ended.kind === 'completed') return await send('task.complete', { result: ended.result }, end);
  // Work that was stopped is handed back; what cannot succeed stays failed all the same.
  return released
    ? await send('task.release', {}, end)
    : await send('task.fail', { reason: ended.reason, retry: ended.retry }, end);
}

/** Why a result cannot be sent; doing the work again would not mend it. */
function resultFault(result: unknown): string | undefined {
  if (result === undefined) return undefined;
  if (!json.safeParse(result).success) return 'the result is not JSON';
  return Buffer.byteLength(JSON.stringify(result)) > MAX_RESULT_BYTES
    ? 'the result is too large for an envelope: store it elsewhere and return where'
    : undefined;
}

/** What is to be done: from the announcement, or from the task itself. */
async function describe(
  connection: SharedConnection,
  room: string,
  candidate: Candidate,
  signal: AbortSignal,
): Promise<z.infer<typeof details>> {
  const announced = details.safeParse(candidate.announcement);
  if (announced.success && !announced.data.omitted) return announced.data;
  return details.parse(await connection.view(taskTarget(room, candidate.task_id).workflowId, undefined, signal));
}

function warn(error: unknown): void {
  process.emitWarning(`synod: ${String(error)}`);
}
