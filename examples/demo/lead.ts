import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { SynodError, type Agent, type Json, type Leadership } from '../../src/client/index.ts';
import { workflowIdOf } from '../../src/envelope/address.ts';
import { fired } from './outcomes.ts';
import type { InputFile } from './files.ts';
import { Progress } from './progress.ts';
import { AGENTS } from './context.ts';
import type { ParentChannel } from './parentChannel.ts';

/** Short, so that a lost task is soon given to another. */
export const LEASE_SECONDS = 4;
/** Tasks that are open at most before a coordinator issues more. */
const ENOUGH_OPEN = 2 * AGENTS.length;

const refusal = z.tuple([z.tuple([z.object({ code: z.string(), reason: z.string() })])]);

/** How many tasks a directive has: all are issued by four of them, where there are enough. */
export function batchOf(files: number): number {
  return Math.max(AGENTS.length, Math.ceil(files / 4));
}

/**
 * What a coordinator does: it issues directives with some tasks each, and announces the tasks once the directive of its epoch
 * was accepted. The next coordinator continues with the tasks that are not on the room's board.
 */
export async function lead(
  { room, epoch, signal, directive }: Leadership,
  agent: Agent,
  client: Client,
  files: readonly InputFile[],
  channel: ParentChannel,
): Promise<void> {
  const progress = new Progress(agent, room);
  try {
    const known = new Set((await progress.board()).map(({ id }) => id));
    const left = files.filter(({ taskId }) => !known.has(taskId));
    let issued = known.size;
    // The last directive has no tasks: it says that there are no more.
    for (let all = false; !all && !signal.aborted;) {
      const batch = left.splice(0, batchOf(files.length));
      const tasks = batch.map(({ taskId }) => taskId);
      all = batch.length === 0;
      await channel.ask({ ask: `direct ${epoch} ${issued}`, kind: 'direct', epoch, tasks });
      const body: Json = all ? { all } : { tasks };
      const refused = await directive(body).then(
        () => undefined,
        async () => await sendAnyway(client, room, agent.id, epoch, body),
      );
      await channel.ask({ ask: `directed ${epoch} ${issued}`, kind: 'directed', epoch, tasks, refused });
      if (refused !== undefined) return;
      await Promise.all(batch.map(async (file) => await announce(agent, room, file)));
      issued += batch.length;
      await progress.until(issued - ENOUGH_OPEN, signal);
    }
    await fired(signal);
  } finally {
    progress.close();
  }
}

/** Sends the directive without the client's own check, as an agent with another client could. Returns why it was refused. */
async function sendAnyway(client: Client, room: string, from: string, epoch: number, directive: Json): Promise<string> {
  const message = { type: 'coordinator.directive', id: randomUUID(), from, ts: '', epoch, directive };
  const handle = client.workflow.getHandle(workflowIdOf(room, 'coordinator', 'main'));
  const [[reply]] = refusal.parse(await handle.executeUpdate('request', { args: [[message]] }));
  return `${reply.code}: ${reply.reason}`;
}

async function announce(agent: Agent, room: string, { taskId, label, path }: InputFile): Promise<void> {
  try {
    await agent.announce(room, {
      taskId,
      title: label,
      input: { path },
      leaseSeconds: LEASE_SECONDS,
      claimSeconds: 20,
      lingerSeconds: 1,
    });
  } catch (error) {
    // An earlier coordinator has announced it, and the board does not have it yet.
    if (!(error instanceof SynodError && error.code === 'idempotency_conflict')) throw error;
  }
}
