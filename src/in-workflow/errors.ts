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

/** A lock was not granted, at last. Its `type` as a failure is `LockDenied`; its `details` hold the fields below. */
export class LockDenied extends ApplicationFailure {
  /** `busy`: tried in vain. `timeout`: waited in vain, and all that the agent held was released. `held`: the agent holds a part of it already. */
  readonly reason: string;
  readonly resources: readonly string[];
  /** The ids of the locks that the agent had to give up, as far as the lock manager names them. */
  readonly released: readonly string[];
  /** How many locks the agent had to give up. */
  readonly releasedCount: number;

  constructor(
    resources: readonly string[],
    { reason, released, released_count: releasedCount = released.length }: DeniedFields,
  ) {
    super(`the lock on ${resources.join(', ')} was denied: ${reason}`, 'LockDenied', false, [
      { reason, resources, released, releasedCount },
    ]);
    this.reason = reason;
    this.resources = resources;
    this.released = released;
    this.releasedCount = releasedCount;
  }
}

interface DeniedFields {
  readonly reason: string;
  readonly released: readonly string[];
  readonly released_count?: number | undefined;
}

/** A lock was lost while the body ran. Its `type` as a failure is `LockLost`. */
export class LockLost extends ApplicationFailure {
  readonly resources: readonly string[];

  constructor(resources: readonly string[], reason: string) {
    super(`the lock on ${resources.join(', ')} was lost: ${reason}`, 'LockLost', false, [{ resources, reason }]);
    this.resources = resources;
  }
}
