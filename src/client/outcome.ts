import type { Envelope } from '../envelope/envelope.ts';
import { z } from 'zod';
import { standingOf } from './closed.ts';
import { roomTarget, taskTarget, type Hub } from './hub.ts';
import { jittered, pause } from './timing.ts';

const ENDED = new Set(['task.completed', 'task.failed', 'task.cancelled']);
/** The task itself is asked so often, in case the room's log has a gap. */
const ASK_INTERVAL_MS = 30_000;

const ended = z.custom<Envelope>((value) => typeof value === 'object' && value !== null && 'type' in value);

/** Waits for the end of a task: by the room's log, and now and then by asking the task itself. */
export async function outcomeOf(
  hub: Hub,
  agent: string,
  room: string,
  taskId: string,
  signal?: AbortSignal,
): Promise<Envelope> {
  const ask = new AbortController();
  let found: Envelope | undefined;
  const stop = hub.readerOf(roomTarget(room).workflowId).listen({
    agent,
    onEvent: ({ envelope }) => {
      if (!ENDED.has(envelope.type) || envelope['task_id'] !== taskId) return;
      found = envelope;
      ask.abort();
    },
    onGap: () => ask.abort(),
  });
  try {
    for (let interrupt = ask; ; interrupt = new AbortController()) {
      if (found) return found;
      const told = await askTask(hub, room, taskId, signal);
      if (told) return told;
      signal?.throwIfAborted();
      await pause(jittered(ASK_INTERVAL_MS), signal ? AbortSignal.any([signal, interrupt.signal]) : interrupt.signal);
    }
  } finally {
    stop();
  }
}

async function askTask(hub: Hub, room: string, taskId: string, signal?: AbortSignal): Promise<Envelope | undefined> {
  const { workflowId } = taskTarget(room, taskId);
  const outcome = ended.safeParse((await hub.view(workflowId, undefined, signal))?.['outcome']);
  if (outcome.success) return outcome.data;
  const standing = await standingOf(hub.client, workflowId);
  return standing.kind === 'ended' ? standing.result.outcome : undefined;
}
