import { envelopeLike, type Envelope } from '../envelope/envelope.ts';
import { SynodError } from '../envelope/refusal.ts';
import type { Hub } from './hub.ts';
import { roomTarget, taskTarget } from './targets.ts';
import { jittered, pause } from './timing.ts';

const ENDED = new Set(['task.completed', 'task.failed', 'task.cancelled']);
/** The task itself is asked so often, in case the room's log has a gap. */
const ASK_INTERVAL_MS = 30_000;

/** Waits for the end of a task: by the room's log, and now and then by asking the task itself. */
export async function outcomeOf(
  hub: Hub,
  agent: string,
  room: string,
  taskId: string,
  signal?: AbortSignal,
): Promise<Envelope> {
  let found: Envelope | undefined;
  let wake = new AbortController();
  const stop = hub.readerOf(roomTarget(room).workflowId).listen({
    agent,
    onEvent: ({ envelope }) => {
      if (!ENDED.has(envelope.type) || envelope['task_id'] !== taskId) return;
      found = envelope;
      wake.abort();
    },
    // Also at the start: it may have ended before.
    onGap: () => wake.abort(),
  });
  try {
    while (!found) {
      await pause(jittered(ASK_INTERVAL_MS), signal ? AbortSignal.any([signal, wake.signal]) : wake.signal);
      signal?.throwIfAborted();
      wake = new AbortController();
      found ??= await askTask(hub, room, taskId, signal);
    }
    return found;
  } finally {
    stop();
  }
}

async function askTask(hub: Hub, room: string, taskId: string, signal?: AbortSignal): Promise<Envelope | undefined> {
  const view = await hub.view(taskTarget(room, taskId).workflowId, undefined, signal);
  if (!view) throw new SynodError('unknown', `there is no task ${taskId} in room ${room} any more`);
  return envelopeLike.safeParse(view['outcome']).data;
}
