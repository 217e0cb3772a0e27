import { boardPage, type BoardRow } from '../../envelope/room.ts';
import { roomTarget } from '../../envelope/targets.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';

/** Which rows of a board are asked for; default all. */
export interface BoardQuery {
  readonly kind?: string;
  readonly status?: string;
}

/** All rows of a room's board, page by page; none where there is no such room. */
export async function boardRows(
  connection: SharedConnection,
  room: string,
  query: BoardQuery,
  signal?: AbortSignal,
): Promise<BoardRow[]> {
  const rows: BoardRow[] = [];
  for (let after: string | undefined; ;) {
    const asked = { board: true, ...query, ...(after === undefined ? {} : { after }) };
    const view = await connection.view(roomTarget(room).workflowId, asked, signal);
    if (!view) return rows;
    const page = boardPage.parse(view);
    rows.push(...page.rows);
    if (page.next === undefined) return rows;
    after = page.next;
  }
}
