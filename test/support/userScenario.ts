import type { Client } from '@temporalio/client';
import type { day } from '../users/workflows.ts';
import { retried, say, Wire } from './wire.ts';

/** A user's workflow that calls every helper, in two runs. Returns its id and result when it has completed. */
export async function runDay(client: Client, room: string): Promise<{ workflowId: string; result: string[] }> {
  const wire = (type: 'quorumProposal' | 'barrier', kind: string) =>
    new Wire(client, type, `synod:${room}:${kind}`, room);
  const locks = new Wire(client, 'lockManager', `synod:${room}:locks`, room, { config: { permits: { api: 1 } } });
  // A workflow configures nothing.
  await locks.ask(say('lock.request', 'first', { resources: ['other'], lock_type: 'read' }));
  const handle = await client.workflow.start<typeof day>('day', {
    workflowId: `day of ${room}`,
    taskQueue: 'synod',
    args: [room],
  });
  for (const task of ['task-2', 'task-1']) {
    const of = Wire.task(client, room, task);
    await opened(of);
    await retried(() => of.ask(say('task.claim', 'w', { task_id: task })));
    await retried(() => of.ask(say('task.complete', 'w', { task_id: task, attempt: 1 })));
  }
  const [phase, proposal] = [wire('barrier', 'barrier:phase'), wire('quorumProposal', 'proposal:p')];
  await opened(phase);
  await opened(proposal);
  for (const agent of ['ann', 'bob']) {
    await retried(() => phase.ask(say('barrier.checkin', agent, { phase: 'phase' })));
    await retried(() => proposal.ask(say('decision.vote', agent, { proposal_id: 'p', choice: 'yes' })));
  }
  return { workflowId: handle.workflowId, result: await handle.result() };
}

/** Waits until a workflow has opened it: a message before that would start it, and spoil the opening. */
export async function opened(wire: Wire): Promise<void> {
  for (;;) {
    const { status } = await wire.view().catch((): { status?: unknown } => ({}));
    if (status === 'open') return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
