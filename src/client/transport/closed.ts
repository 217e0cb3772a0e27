import { WorkflowFailedError, type Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { z } from 'zod';
import { opening } from '../../envelope/calls.ts';
import { bodyHash, envelopeLike, identityOf, SYNOD, type Base, type Envelope } from '../../envelope/envelope.ts';
import { formatTimestamp } from '../../envelope/fields.ts';
import type { RefusalCode } from '../../envelope/refusal.ts';

const result = z.object({ outcome: envelopeLike, opened: opening.optional() });

/** The state of a workflow that could not be reached. */
export type Standing =
  /** It runs (again): ask it. */
  | { readonly kind: 'running' }
  /** There is none, or it failed before it was opened: the name is free. */
  | { readonly kind: 'free' }
  | { readonly kind: 'ended'; readonly result: z.infer<typeof result> };

const RUNNING: ReadonlySet<string> = new Set(['RUNNING', 'CONTINUED_AS_NEW', 'PAUSED']);
/** Of these the id may be taken again. */
const FAILED: ReadonlySet<string> = new Set(['FAILED', 'CANCELLED', 'TERMINATED', 'TIMED_OUT']);

/** Looks up a workflow that did not answer. */
export async function standingOf(client: Client, workflowId: string): Promise<Standing> {
  const handle = client.workflow.getHandle(workflowId);
  try {
    const { status } = await handle.describe();
    if (RUNNING.has(status.name)) return { kind: 'running' };
    if (FAILED.has(status.name)) return { kind: 'free' };
    // A status that is not known says nothing of the name.
    if (status.name !== 'COMPLETED') throw new Error(`${workflowId} has the status ${status.name}`);
    return { kind: 'ended', result: result.parse(await handle.result()) };
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || error instanceof WorkflowFailedError) return { kind: 'free' };
    throw error;
  }
}

/** What an ended workflow would answer: its first reply to the same opening, a conflict to another, `closed` otherwise. */
export function lastAnswer(
  message: Base,
  { outcome, opened }: z.infer<typeof result>,
  openingType: string | undefined,
): Envelope[] {
  if (message.type !== openingType) return [refusedBy(message, 'closed', `it has ended with ${outcome.type}`)];
  const { from, key } = identityOf(message);
  const same = opened?.from === from && opened.idempotency_key === key && opened.body_hash === bodyHash(message);
  if (!same)
    return [
      refusedBy(message, 'idempotency_conflict', `it was opened by another message, of ${opened?.from ?? 'nobody'}`),
    ];
  const area = message.type.slice(0, message.type.indexOf('.'));
  return [reply(message, { type: `${area}.accepted` }), { ...outcome, in_reply_to: message.id }];
}

/** A refusal made on this side, for a workflow that has ended. */
export function refusedBy(message: Base, code: RefusalCode, reason: string): Envelope {
  return reply(message, { type: 'error', code, reason });
}

function reply(message: Base, fields: { type: string; [field: string]: string }): Envelope {
  return {
    id: `${message.id}:r`.slice(0, 128),
    from: SYNOD,
    to: message.from,
    ts: formatTimestamp(Date.now()),
    in_reply_to: message.id,
    ...fields,
  };
}
