import { ApplicationFailure } from '@temporalio/workflow';
import { z } from 'zod';
import type { Envelope } from '../envelope/envelope.ts';
import { isRefusalCode, type Refusal } from '../envelope/refusal.ts';

const refusedEnvelope = z.object({
  type: z.literal('error'),
  code: z.string().refine(isRefusalCode),
  reason: z.string(),
});

/** A refusal, as a workflow can fail with it: `type` is the wire's code, `message` says why. */
export function refused({ code, reason }: Refusal): ApplicationFailure {
  return ApplicationFailure.nonRetryable(`${code}: ${reason}`, code);
}

/** The refusal that an envelope is. */
export function refusalIn(envelope: Envelope | undefined): Refusal | undefined {
  return refusedEnvelope.safeParse(envelope).data;
}
