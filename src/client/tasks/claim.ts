import { z } from 'zod';
import type { Envelope } from '../../envelope/envelope.ts';
import { SynodError, type RefusalCode } from '../../envelope/refusal.ts';
import { taskMessages } from '../../envelope/task.ts';
import { taskTarget } from '../../envelope/targets.ts';
import { termOf, type Term } from '../leases/term.ts';
import { isRefusedWith, refusalOf } from '../messages/answers.ts';
import { compose } from '../messages/compose.ts';
import { withGrace } from '../timing/timing.ts';
import { Attempt, type Worker } from './attempt.ts';
import type { Candidate } from './candidates.ts';

/** How a task answers that is not to be had any more: another was first, or it has ended. */
const GONE = ['closed', 'unknown'] as const satisfies readonly RefusalCode[];

const ack = z.object({ type: z.literal('task.ack'), attempt: z.number() });
const announced = z.object({ lease_seconds: z.number() });

/** A task that was claimed. */
export interface Claimed {
  readonly attempt: Attempt;
  readonly term: Term;
}

/**
 * Claims a task, with the shorter of the lease that is wanted and the announced one; undefined where somebody else has it.
 * What else it is refused with is reported.
 */
export async function claim(
  worker: Worker,
  candidate: Candidate,
  leaseSeconds: number | undefined,
): Promise<Claimed | undefined> {
  const { taskId, announcement } = candidate;
  const { data } = announced.safeParse(announcement);
  const shorter = leaseSeconds === undefined || !data ? leaseSeconds : Math.min(leaseSeconds, data.lease_seconds);
  let asked = await ask(worker, candidate, shorter);
  // The board does not say how long the announced lease is.
  if (shorter !== undefined && isTooLong(asked.answer)) asked = await ask(worker, candidate, undefined);
  const { answer, sentAt } = asked;
  const won = ack.safeParse(answer);
  // The ack is always the first reply; whatever else comes first says that somebody else was.
  if (answer && won.success)
    return { attempt: new Attempt(worker, candidate, won.data.attempt), term: termOf(answer, sentAt) };
  if (answer?.type === 'error' && !isRefusedWith(answer, ...GONE))
    worker.report({ kind: 'refused', taskId, token: undefined, ...refusalOf(answer) });
  return undefined;
}

function isTooLong(answer: Envelope | undefined): boolean {
  return isRefusedWith(answer, 'invalid_envelope') && refusalOf(answer).reason.startsWith('lease_seconds');
}

/** Sends a claim. One that has no answer in the end, because the worker is stopped or by an error, is taken back. */
async function ask(
  worker: Worker,
  candidate: Candidate,
  leaseSeconds: number | undefined,
): Promise<{ readonly answer: Envelope | undefined; readonly sentAt: number }> {
  const { agent, connection, room, signal } = worker;
  const { taskId } = candidate;
  const sentAt = performance.now();
  const message = compose(taskMessages['task.claim'], agent, {
    type: 'task.claim',
    task_id: taskId,
    lease_seconds: leaseSeconds,
  });
  const send = async (end: AbortSignal) => await connection.send(taskTarget(room, taskId), message, end);
  let answers: readonly Envelope[] | undefined;
  try {
    answers = await withGrace(signal, send);
  } catch (error) {
    if (!(error instanceof SynodError)) throw error;
    const { code, reason } = error;
    answers = [{ type: 'error', id: '', from: agent, ts: '', code, reason }];
  } finally {
    if (!answers) connection.beforeClosing(takeBack(worker, candidate, send)).catch(() => undefined);
  }
  return { answer: answers?.[0], sentAt };
}

/** The very claim again says which attempt it was granted, if it was. */
async function takeBack(
  worker: Worker,
  candidate: Candidate,
  send: (end: AbortSignal) => Promise<readonly Envelope[]>,
): Promise<void> {
  const answers = await withGrace(AbortSignal.abort(), send);
  const { data } = ack.safeParse(answers?.[0]);
  if (data) new Attempt(worker, candidate, data.attempt).handBack();
}
