import { z } from 'zod';
import { coordinatorTarget, barrierTarget, locksTarget, proposalTarget, roomTarget } from '../envelope/targets.ts';
import type { SharedConnection } from '../client/connection/sharedConnection.ts';
import type { Json } from '../envelope/fields.ts';
import { boardPage, type BoardRow } from '../envelope/room.ts';

/** Rows of the board that are read at most; a board holds 3,000. */
const MAX_ROWS = 1_000;
/** Coordinators, proposals and barriers of which the state is read; of more than these the board's row is shown. */
const MAX_VIEWS = 32;
/** How rows of what has ended are marked. */
const ENDED = new Set(['completed', 'failed', 'cancelled', 'committed', 'withdrawn', 'released']);
/** What every workflow's view holds beside what it is about. */
const BOOKKEEPING = new Set([
  'type',
  'room',
  'config',
  'config_ignored',
  'counters',
  'log',
  'identities',
  'waits',
  'subscribers',
  'now',
  'outcome',
]);

const locksView = z.object({ config: z.object({ shards: z.number().int().min(1).default(1) }) });
const roomView = z.object({
  log: z.object({ head: z.number() }),
  agents: z.array(z.looseObject({ id: z.string() })),
  board_truncated: z.boolean(),
});

type Fields = { [field: string]: Json };
type Part = Fields | BoardRow;

/** What is going on in a room. */
export interface RoomState {
  readonly room: string;
  readonly next: number;
  readonly agents: { id: string; [field: string]: unknown }[];
  readonly tasks: BoardRow[];
  readonly locks: Fields[];
  readonly coordinators: Part[];
  readonly proposals: Part[];
  readonly barriers: Part[];
  readonly truncated: boolean;
}

/** Reads what is going on in a room; undefined where nobody has opened it. */
export async function stateOf(
  connection: SharedConnection,
  room: string,
  signal: AbortSignal,
): Promise<RoomState | undefined> {
  const { workflowId } = roomTarget(room);
  const view = await connection.view(workflowId, undefined, signal);
  if (!view) return undefined;
  const { log, agents, board_truncated } = roomView.parse(view);
  const rows = await connection.view(workflowId, { board: true, limit: MAX_ROWS }, signal);
  // It has ended in between.
  if (!rows) return undefined;
  const board = boardPage.parse(rows);
  const open = board.rows.filter(({ status }) => !ENDED.has(status));
  let views = 0;
  const viewsOf = async (
    kind: string,
    target: (room: string, name: string) => { workflowId: string },
  ): Promise<Part[]> => {
    const read = open
      .filter((row) => row.kind === kind)
      .map(async (row) => {
        if (++views > MAX_VIEWS) return row;
        const seen = await connection.view(target(room, row.id).workflowId, undefined, signal);
        return seen ? { ...row, ...about(seen) } : row;
      });
    return await Promise.all(read);
  };
  const [locks, coordinators, proposals, barriers] = await Promise.all([
    locksOf(connection, room, signal),
    viewsOf('coordinator', coordinatorTarget),
    viewsOf('proposal', proposalTarget),
    viewsOf('barrier', barrierTarget),
  ]);
  return {
    room,
    next: log.head,
    agents,
    tasks: open.filter(({ kind }) => kind === 'task'),
    locks: locks.managers,
    coordinators,
    proposals,
    barriers,
    truncated: board_truncated || board.next !== undefined || views > MAX_VIEWS || locks.truncated,
  };
}

/** The room's lock manager, or the first of its shards. */
async function locksOf(
  connection: SharedConnection,
  room: string,
  signal: AbortSignal,
): Promise<{ managers: Fields[]; truncated: boolean }> {
  const view = await connection.view(locksTarget(room).workflowId, undefined, signal);
  if (!view) return { managers: [], truncated: false };
  const { shards } = locksView.parse(view).config;
  if (shards === 1) return { managers: [about(view)], truncated: false };
  const ids = Array.from({ length: Math.min(shards, MAX_VIEWS) }, (_, i) => locksTarget(room, i).workflowId);
  const views = await Promise.all(ids.map(async (id) => await connection.view(id, undefined, signal)));
  const managers = views.flatMap((one, shard) => (one ? [{ shard, ...about(one) }] : []));
  return { managers, truncated: shards > MAX_VIEWS };
}

function about(view: Fields): Fields {
  return Object.fromEntries(Object.entries(view).filter(([field]) => !BOOKKEEPING.has(field)));
}
