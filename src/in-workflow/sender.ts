import * as wf from '@temporalio/workflow';
import { DEFAULT_TASK_QUEUE, isSynodId } from '../envelope/address.ts';
import { sha256Hex } from '../envelope/canonical.ts';
import { OPERATOR_PREFIX, SYNOD } from '../envelope/envelope.ts';
import { agentId } from '../envelope/fields.ts';
import { refusal } from '../envelope/refusal.ts';
import { refused } from './errors.ts';

/** Options of every helper. */
export interface SenderOptions {
  /**
   * The agent in whose name this workflow sends. Default: its workflow id where that is an agent id, else `wf-` and a hash of
   * it: the same for all its runs. Of one agent a lock is asked for once; branches that exclude each other need two.
   */
  readonly agent?: string;
  /** Where Synod's workflows and activities run; default `synod`. */
  readonly taskQueue?: string;
}

/** The agent that sends, and where its answers go. */
export interface Sender {
  readonly from: string;
  /** This workflow. */
  readonly replyTo: string;
  readonly taskQueue: string;
}

/** @throws ApplicationFailure `invalid_envelope` where nothing can be answered to this workflow, or as this agent. */
export function senderOf({ agent, taskQueue = DEFAULT_TASK_QUEUE }: SenderOptions): Sender {
  const { workflowId } = wf.workflowInfo();
  if (isSynodId(workflowId))
    throw refused(refusal('invalid_envelope', `reply_to must be a workflow id outside synod:, not ${workflowId}`));
  return { from: agent ?? agentOf(workflowId), replyTo: workflowId, taskQueue };
}

/** The agent that a workflow is. What would be somebody of Synod, or an operator, is hashed as well. */
export function agentOf(workflowId: string): string {
  const own = agentId.safeParse(workflowId).success && workflowId !== SYNOD && !workflowId.startsWith(OPERATOR_PREFIX);
  return own ? workflowId : `wf-${sha256Hex(workflowId).slice(0, 32)}`;
}
