import {
  ServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  isGrpcServiceError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { isRefusalCode, SynodError } from '../../envelope/refusal.ts';
import { HubFault } from './hubFault.ts';

/** What a failed call means for what was asked. */
export type Fault =
  /** Nothing was done, or it is not known: the same again, after a pause. `contended` where all places for updates are taken. */
  | { readonly kind: 'retry'; readonly error: unknown; readonly contended?: boolean }
  /** No such workflow, or it has closed. */
  | { readonly kind: 'gone'; readonly error: unknown }
  /** It has ended and may not be started again. */
  | { readonly kind: 'ended'; readonly error: unknown }
  /** Trying again cannot help. */
  | { readonly kind: 'fatal'; readonly error: unknown };

const RESOURCE_EXHAUSTED = 8;
/** gRPC's codes that pass by themselves. */
const PASSING = new Set([
  1, // CANCELLED
  2, // UNKNOWN
  4, // DEADLINE_EXCEEDED
  RESOURCE_EXHAUSTED,
  9, // FAILED_PRECONDITION
  10, // ABORTED
  13, // INTERNAL
  14, // UNAVAILABLE
]);
/** What the server says where a workflow has as many updates in flight as it may. */
const IN_FLIGHT = /in-flight updates/i;
const ALREADY_EXISTS = 6;
const NOT_FOUND = 5;
/** What the failure of an update is called when its workflow ended under it. */
const ENDED_UNDER_UPDATE = 'AcceptedUpdateCompletedWorkflow';

/** Reads an error of the Temporal client, or of a hub. */
export function classify(error: unknown): Fault {
  if (error instanceof WorkflowUpdateFailedError) return ofUpdate(error);
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) return { kind: 'retry', error };
  if (error instanceof WorkflowExecutionAlreadyStartedError) return { kind: 'ended', error };
  if (error instanceof WorkflowNotFoundError) return { kind: 'gone', error };
  if (error instanceof HubFault) return ofHub(error);
  const cause = error instanceof ServiceError ? error.cause : error;
  if (!isGrpcServiceError(cause)) return { kind: 'fatal', error };
  if (/larger than max|message size/i.test(cause.details)) {
    return { kind: 'fatal', error: new SynodError('over_limit', cause.details, { cause: error }) };
  }
  if (cause.code === ALREADY_EXISTS) return { kind: 'ended', error };
  if (cause.code === NOT_FOUND) return { kind: 'gone', error };
  if (!PASSING.has(cause.code)) return { kind: 'fatal', error };
  // A workflow that hands over or has many queries refuses with the same code; that passes by itself.
  const contended = cause.code === RESOURCE_EXHAUSTED && IN_FLIGHT.test(cause.details);
  return contended ? { kind: 'retry', error, contended } : { kind: 'retry', error };
}

function ofUpdate(error: WorkflowUpdateFailedError): Fault {
  const { cause } = error;
  const type = cause instanceof ApplicationFailure ? cause.type : undefined;
  if (type === 'draining' || type === ENDED_UNDER_UPDATE) return { kind: 'retry', error };
  return {
    kind: 'fatal',
    error: isRefusalCode(type) ? new SynodError(type, cause?.message ?? error.message, { cause: error }) : error,
  };
}

function ofHub(error: HubFault): Fault {
  const { status, code } = error;
  // No answer, or one of a proxy in between.
  if (status === undefined || status >= 500) return { kind: 'retry', error };
  if (status === 429) return { kind: 'retry', error, contended: true };
  return { kind: code === 'unknown' ? 'gone' : 'fatal', error };
}
