import type { Target } from '../../envelope/address.ts';
import { envelopeLike, type Envelope } from '../../envelope/envelope.ts';
import { SynodError } from '../../envelope/refusal.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';
import { barrierTarget, proposalTarget, roomTarget, taskTarget } from '../../envelope/targets.ts';
import { jittered, pause } from '../timing/timing.ts';

/** What is to end is asked so often, in case the room's log has a gap. */
const ASK_INTERVAL_MS = 30_000;

/** Something that ends: by which envelopes, and what they call it. */
export interface Ending {
  readonly target: Target;
  /** What it is called in errors. */
  readonly what: string;
  readonly field: 'task_id' | 'proposal_id' | 'phase';
  readonly name: string;
  readonly types: ReadonlySet<string>;
}

export function taskEnding(room: string, name: string): Ending {
  const types = new Set(['task.completed', 'task.failed', 'task.cancelled']);
  return { target: taskTarget(room, name), what: `task ${name}`, field: 'task_id', name, types };
}

export function proposalEnding(room: string, name: string): Ending {
  const types = new Set(['decision.commit', 'decision.failed']);
  return { target: proposalTarget(room, name), what: `proposal ${name}`, field: 'proposal_id', name, types };
}

export function barrierEnding(room: string, name: string): Ending {
  const types = new Set(['barrier.released', 'barrier.failed']);
  return { target: barrierTarget(room, name), what: `phase ${name}`, field: 'phase', name, types };
}

/** Waits for an end: by the room's log, and now and then by asking what is to end itself. */
export async function outcomeOf(
  connection: SharedConnection,
  agent: string,
  ending: Ending,
  signal?: AbortSignal,
): Promise<Envelope> {
  let found: Envelope | undefined;
  let wake = new AbortController();
  const stop = connection.readerOf(roomTarget(ending.target.room).workflowId).listen({
    agent,
    onEvent: ({ envelope }) => {
      if (!ending.types.has(envelope.type) || envelope[ending.field] !== ending.name) return;
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
      found ??= await askItself(connection, ending, signal);
    }
    return found;
  } finally {
    stop();
  }
}

/** The end from its own view, whole; undefined where it has not come. */
export async function askItself(
  connection: SharedConnection,
  ending: Ending,
  signal?: AbortSignal,
): Promise<Envelope | undefined> {
  const { room, workflowId } = ending.target;
  const view = await connection.view(workflowId, undefined, signal);
  if (!view) throw new SynodError('unknown', `there is no ${ending.what} in room ${room} any more`);
  return envelopeLike.optional().parse(view['outcome'] ?? undefined);
}
