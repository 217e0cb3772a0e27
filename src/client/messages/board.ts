import { z } from 'zod';
import { BOARD_KINDS, BOARD_STATUSES, boardPage, type BoardRow } from '../../envelope/room.ts';
import { explain, SynodError } from '../../envelope/refusal.ts';
import { roomTarget } from '../../envelope/targets.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';

/** Which rows of a board are asked for; default all. */
export interface BoardQuery {
  readonly kind?: (typeof BOARD_KINDS)[number];
  readonly status?: (typeof BOARD_STATUSES)[number];
}

const boardQuery = z.object({
  kind: z.enum(BOARD_KINDS, `must be one of ${BOARD_KINDS.join(', ')}`).optional(),
  status: z.enum(BOARD_STATUSES, `must be one of ${BOARD_STATUSES.join(', ')}`).optional(),
});

/**
 * All rows of a room's board, page by page; none where there is no such room.
 * @throws SynodError `invalid_envelope` where the kind or status is none.
 */
export async function boardRows(
  connection: SharedConnection,
  room: string,
  query: BoardQuery,
  signal?: AbortSignal,
): Promise<BoardRow[]> {
  const { success, error, data } = boardQuery.safeParse(query);
  if (!success) throw new SynodError('invalid_envelope', explain(error, 'query'));
  const rows: BoardRow[] = [];
  for (let after: string | undefined; ;) {
    const asked = { board: true, ...data, ...(after === undefined ? {} : { after }) };
    const view = await connection.view(roomTarget(room).workflowId, asked, signal);
    if (!view) return rows;
    const page = boardPage.parse(view);
    rows.push(...page.rows);
    if (page.next === undefined) return rows;
    after = page.next;
  }
}
