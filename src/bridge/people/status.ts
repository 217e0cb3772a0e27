import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { Agent } from '../../client/agent.ts';
import type { SharedConnection } from '../../client/connection/sharedConnection.ts';
import { lineOfLocked, lockStatus } from '../../client/locks/status.ts';
import { roomTarget } from '../../envelope/targets.ts';

/** Lines of a list that are shown. */
const MAX_LINES = 20;

const members = z.object({
  agents: z.array(z.object({ id: z.string(), kind: z.string(), purpose: z.string(), since: z.string() })),
  paused: z.object({ by: z.string(), since: z.string(), reason: z.string().optional() }).optional(),
});

/** Where the lists that a person asks for come from. */
export interface StatusSource {
  readonly client: Client;
  readonly taskQueue: string;
  readonly connection: SharedConnection;
  readonly room: string;
}

/** The tasks that have not ended, the most urgent first. */
export async function tasks({ client, taskQueue, room }: StatusSource, agent: string): Promise<string> {
  const rows = await new Agent(client, agent, { taskQueue }).board(room, { kind: 'task' });
  const going = rows.filter(({ status }) => !ENDED.has(status));
  return listed(
    going.map(({ id, status, holder, priority, since }) =>
      [
        id,
        holder === undefined ? status : `${status} by ${holder}`,
        ...(priority === undefined ? [] : [`priority ${priority}`]),
        `since ${clock(since)}`,
      ].join(', '),
    ),
    'There is nothing to be done.',
  );
}

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

/** What is locked, the most waited for first. */
export async function locks({ connection, room }: StatusSource): Promise<string> {
  const { resources, left } = await lockStatus(connection, room);
  return listed(
    resources.map((one) => lineOfLocked(one).replaceAll('\t', ', ')),
    'Nothing is locked.',
    left,
  );
}

/** Who has joined, and whether the room is paused. */
export async function who({ connection, room }: StatusSource): Promise<string> {
  const view = await connection.view(roomTarget(room).workflowId);
  const { agents, paused } = view ? members.parse(view) : { agents: [] };
  const pause = paused ? [`The room is paused by ${paused.by} since ${clock(paused.since)}.`] : [];
  const present = agents.map(({ id, kind, purpose, since }) => `${id}, ${kind}: ${purpose}, since ${clock(since)}`);
  return [...pause, listed(present, 'Nobody has joined.')].join('\n');
}

function listed(lines: readonly string[], none: string, left: number = 0): string {
  if (lines.length === 0) return none;
  const more = Math.max(0, lines.length - MAX_LINES) + left;
  return [...lines.slice(0, MAX_LINES), ...(more > 0 ? [`… and ${more} more`] : [])].join('\n');
}

function clock(time: string): string {
  return `${time.slice(11, 19)} UTC`;
}
