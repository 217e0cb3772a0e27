import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { SynodError, type Agent, type Json, type Leadership } from '../../src/client/index.ts';
import { workflowIdOf } from '../../src/envelope/address.ts';
import { fired } from './fates.ts';
import type { InputFile } from './files.ts';
import { Progress } from './progress.ts';
import { AGENTS } from './stage.ts';
import type { Talk } from './talk.ts';

/** Short, so that a lost task is soon handed on. */
export const LEASE_SECONDS = 4;
/** Tasks that are open at most before a coordinator issues more. */
const ENOUGH_OPEN = 2 * AGENTS.length;

const refusal = z.tuple([z.tuple([z.object({ code: z.string(), reason: z.string() })])]);

/** How many tasks a directive has: all are issued by four of them, where there are enough. */
export function batchOf(files: number): number {
  return Math.max(AGENTS.length, Math.ceil(files / 4));
}

/**
 * What a coordinator does: it directs that tasks be done, some at a time, and announces them once the directive of its epoch
 * was accepted. Whoever comes after it goes on with what does not stand on the room's board.
 */
export async function lead(
  { room, epoch, signal, directive }: Leadership,
  agent: Agent,
  client: Client,
  files: readonly InputFile[],
  talk: Talk,
): Promise<void> {
  const progress = new Progress(agent, room);
  try {
    const known = new Set((await progress.board()).map(({ id }) => id));
    const left = files.filter(({ taskId }) => !known.has(taskId));
    let issued = known.size;
    // The last directive issues nothing: it says that this is all.
    for (let all = false; !all && !signal.aborted;) {
      const batch = left.splice(0, batchOf(files.length));
      const tasks = batch.map(({ taskId }) => taskId);
      all = batch.length === 0;
      await talk.ask({ ask: `direct ${epoch} ${issued}`, kind: 'direct', epoch, tasks });
      const body: Json = all ? { all } : { tasks };
      const refused = await directive(body).then(
        () => undefined,
        async () => await insist(client, room, agent.id, epoch, body),
      );
      await talk.ask({ ask: `directed ${epoch} ${issued}`, kind: 'directed', epoch, tasks, refused });
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

/** Says it all the same, as one would that has no client that knows better. Answers why it was refused. */
async function insist(client: Client, room: string, from: string, epoch: number, directive: Json): Promise<string> {
  const message = { type: 'coordinator.directive', id: randomUUID(), from, ts: '', epoch, directive };
  const handle = client.workflow.getHandle(workflowIdOf(room, 'coordinator', 'main'));
  const [[reply]] = refusal.parse(await handle.executeUpdate('request', { args: [[message]] }));
  return `${reply.code}: ${reply.reason}`;
}

async function announce(agent: Agent, room: string, { taskId, label, path }: InputFile): Promise<void> {
  try {
    await agent.announce(room, {
      task_id: taskId,
      title: label,
      input: { path },
      lease_seconds: LEASE_SECONDS,
      claim_seconds: 20,
      linger_seconds: 1,
    });
  } catch (error) {
    // An earlier coordinator has announced it, and the board did not show it yet.
    if (!(error instanceof SynodError && error.code === 'idempotency_conflict')) throw error;
  }
}
