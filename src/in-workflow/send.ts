import * as wf from '@temporalio/workflow';
import type { z } from 'zod';
import type { SynodActivities } from '../envelope/activities.ts';
import type { Target } from '../envelope/address.ts';
import { isRefusal, readMessage, type Base, type Envelope } from '../envelope/envelope.ts';
import { roomName } from '../envelope/fields.ts';
import { refusal, SynodError } from '../envelope/refusal.ts';
import { known, type Keys } from '../envelope/options.ts';
import { refused } from './errors.ts';
import { inbox } from './inbox.ts';
import type { Sender } from './sender.ts';

const RETRY = { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '30 seconds' } as const;

/**
 * A message of this workflow: `id`, `ts` and `reply_to` are filled in, everything is checked before it is sent.
 * @throws ApplicationFailure `invalid_envelope` naming the field.
 */
export function compose<M extends Base>(
  schema: z.ZodType<M>,
  { from, replyTo }: Sender,
  fields: { readonly type: string; readonly [field: string]: unknown },
): M {
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  const message = readMessage(
    { id: wf.uuid4(), from, ts: new Date().toISOString(), reply_to: replyTo, ...given },
    schema,
  );
  if (isRefusal(message)) throw refused(message);
  return message;
}

/** A room's name that was checked. */
export function checkedRoom(room: string): string {
  const parsed = roomName.safeParse(room);
  if (parsed.success) return parsed.data;
  throw refused(refusal('invalid_envelope', `room ${parsed.error.issues[0]?.message ?? 'is malformed'}`));
}

/**
 * Options as a caller without types may give them.
 * @throws ApplicationFailure `invalid_envelope` naming a key that is none.
 */
export function checkKeys<Options extends object>(name: string, options: Options, keys: Keys<Options>): void {
  try {
    known(name, options, keys);
  } catch (error) {
    throw error instanceof SynodError ? refused(refusal(error.code, error.reason)) : error;
  }
}

/** The configuration of something that answers for so many seconds after its end; undefined for the default. */
export function lingering(seconds: number | undefined): Target['config'] {
  return seconds === undefined ? undefined : { linger_seconds: seconds };
}

/**
 * Says something to a primitive that runs, by a signal: the answers come to the inbox. Where no signal reaches it, because it
 * does not run yet or has ended, the activity finds out which.
 */
export async function send(sender: Sender, target: Target, message: Base): Promise<void> {
  try {
    await wf.getExternalWorkflowHandle(target.workflowId).signal('envelope', message);
  } catch (error) {
    if (wf.isCancellation(error)) throw error;
    await request(sender, target, message);
  }
}

/**
 * Says something by an activity, which starts the primitive where it does not run: a workflow cannot signal with start, and
 * what it could start as a child lies open, until its first signal comes, to be spoiled by another's message.
 * @returns the replies; the inbox gets them as well.
 */
export async function request(sender: Sender, target: Target, message: Base): Promise<Envelope[]> {
  const activities = wf.proxyActivities<SynodActivities>({
    taskQueue: sender.taskQueue,
    startToCloseTimeout: '30 seconds',
    retry: RETRY,
  });
  const replies = await said(
    activities.synodSend.executeWithOptions({ summary: `${message.type} to ${target.workflowId}` }, [
      { target, message },
    ]),
  );
  inbox().receiveReplies(target.workflowId, replies);
  return replies;
}

/** What the activity returns; a refusal as such, without the activity around it. */
async function said(activity: Promise<Envelope[]>): Promise<Envelope[]> {
  try {
    return await activity;
  } catch (error) {
    throw error instanceof wf.ActivityFailure && error.cause instanceof wf.ApplicationFailure ? error.cause : error;
  }
}
