import { SYNOD, type Envelope } from '../../envelope/envelope.ts';
import { parseTimestamp, type Json } from '../../envelope/fields.ts';
import type { LogEvent } from '../../envelope/calls.ts';

/** What `agent.shouldYield` found. */
export type YieldHint =
  | { readonly yield: false }
  | {
      readonly yield: true;
      /** Who is at it, as far as the room knows. */
      readonly to: string;
      /** The latest entry of the room's log that says so. */
      readonly because: Envelope;
    };

/**
 * Whether somebody else has spoken about a task, has claimed it or has got it, lately and since it was last announced.
 * Source: "Discord Break Rooms for AI Agents", the yielding check, on a room's durable log and in Temporal's time.
 * @param log the room's log, whole, as everybody may read it.
 * @param now epoch milliseconds.
 * @param withinMs how long ago counts as lately.
 */
export function yieldHint(
  log: readonly LogEvent[],
  about: { agent: string; taskId: string; now: number; withinMs: number },
): YieldHint {
  const { agent, taskId, now, withinMs } = about;
  const named = mentionOf(taskId);
  let hint: YieldHint = { yield: false };
  let attempt: Json = 1;
  for (const [i, { envelope }] of log.entries()) {
    if (envelope.type === 'task.announce' && envelope['task_id'] === taskId) {
      const announced = envelope['attempt'] ?? 1;
      // What was said of an earlier attempt does not hold back the next. The first one may reach the room after what is said of it.
      if (announced !== attempt) hint = { yield: false };
      attempt = announced;
    }
    const to = speakerOf(envelope, taskId, named);
    if (to === undefined || to === agent) continue;
    if (timeOf(log, i, now) > now - withinMs) hint = { yield: true, to, because: envelope };
  }
  return hint;
}

/** Who an entry says is at the task; undefined where it says nothing of the kind. */
function speakerOf(envelope: Envelope, taskId: string, named: RegExp): string | undefined {
  const { type, from, to, text, holder } = envelope;
  if (type === 'room.post') return typeof text === 'string' && named.test(text) ? from : undefined;
  if (envelope['task_id'] !== taskId) return undefined;
  if (type === 'task.claim') return from;
  if (type === 'task.ack') return to;
  return type === 'task.closed' && typeof holder === 'string' ? holder : undefined;
}

/**
 * When an entry was logged, at the latest, in Temporal's time: senders' clocks decide nothing, but the answer to each message
 * comes right after it and has Temporal's time, as all has that the primitives say.
 */
function timeOf(log: readonly LogEvent[], index: number, now: number): number {
  const stamped = log.slice(index).find(({ envelope }) => envelope.from === SYNOD);
  return (stamped && parseTimestamp(stamped.envelope.ts)) ?? now;
}

/** A task's id not as a part of another word: `t-1` is not named by `t-12`, nor by `not-t-1`. */
function mentionOf(taskId: string): RegExp {
  const escaped = taskId.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
  return new RegExp(String.raw`(?<![\p{L}\p{N}_.\-])${escaped}(?!\.?[\p{L}\p{N}_\-])`, 'u');
}
