import {
  ServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { expect, it } from 'vitest';
import { SynodError } from '../../envelope/refusal.ts';
import { classify } from './faults.ts';

/** An error as gRPC makes it. */
function grpc(code: number, details = 'as the server says'): Error {
  return Object.assign(new Error(`${code}: ${details}`), { code, details, metadata: {} });
}
const service = (code: number, details?: string) => new ServiceError('failed', { cause: grpc(code, details) });
const updateFailed = (type: string) =>
  new WorkflowUpdateFailedError('Workflow Update failed', ApplicationFailure.nonRetryable('the words', type));

it.each(['draining', 'AcceptedUpdateCompletedWorkflow'])('repeats an update that failed with %s', (type) => {
  expect(classify(updateFailed(type)).kind).toBe('retry');
});

it('gives a refusal of an update on as a SynodError, and another failure as it is', () => {
  const refused = classify(updateFailed('over_limit'));
  expect(refused.kind).toBe('fatal');
  expect(refused.error).toBeInstanceOf(SynodError);
  expect(refused.error).toMatchObject({ code: 'over_limit', message: expect.stringContaining('the words') as string });
  const other = updateFailed('SomethingElse');
  expect(classify(other)).toEqual({ kind: 'fatal', error: other });
});

it.each([
  [1, 'CANCELLED'],
  [2, 'UNKNOWN'],
  [4, 'DEADLINE_EXCEEDED'],
  [8, 'RESOURCE_EXHAUSTED'],
  [9, 'FAILED_PRECONDITION'],
  [10, 'ABORTED'],
  [13, 'INTERNAL'],
  [14, 'UNAVAILABLE'],
])('repeats after gRPC %d, %s, wrapped or bare', (code) => {
  expect(classify(service(code)).kind).toBe('retry');
  expect(classify(grpc(code)).kind).toBe('retry');
});

it('knows contention by the limit of updates in flight alone, not by what else the server has too much of', () => {
  const limit = 'limit on number of concurrent in-flight updates has been reached (10)';
  expect(classify(service(8, limit))).toMatchObject({ kind: 'retry', contended: true });
  const others = [
    'workflow operation can not be applied because workflow is closing',
    'consistent query buffer is full',
  ];
  for (const words of others) expect(classify(service(8, words))).not.toHaveProperty('contended');
});

it.each([
  [3, 'INVALID_ARGUMENT'],
  [7, 'PERMISSION_DENIED'],
  [12, 'UNIMPLEMENTED'],
  [16, 'UNAUTHENTICATED'],
])('gives up after gRPC %d, %s', (code) => {
  expect(classify(service(code)).kind).toBe('fatal');
});

it('repeats a call that timed out', () => {
  expect(classify(new WorkflowUpdateRPCTimeoutOrCancelledError('late', { cause: grpc(4) })).kind).toBe('retry');
});

it('does not repeat a message that is too large for the server, though the code is that of a full one', () => {
  const fault = classify(service(8, 'grpc: received message larger than max (5000000 vs. 4194304)'));
  expect(fault.kind).toBe('fatal');
  expect(fault.error).toBeInstanceOf(SynodError);
  expect(fault.error).toMatchObject({ code: 'over_limit' });
});

it('distinguishes a workflow that is not there from one that may not be started again', () => {
  expect(classify(new WorkflowNotFoundError('none', 'w', undefined)).kind).toBe('gone');
  expect(classify(service(5)).kind).toBe('gone');
  expect(classify(new WorkflowExecutionAlreadyStartedError('there', 'w', 'taskLease')).kind).toBe('ended');
  expect(classify(service(6)).kind).toBe('ended');
});

it('gives up after an error of this side', () => {
  const error = new TypeError('a slip');
  expect(classify(error)).toEqual({ kind: 'fatal', error });
});
