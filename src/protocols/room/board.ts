import { z } from 'zod';
import { countByName } from '../../envelope/byName.ts';
import { formatTimestamp, type Json } from '../../envelope/fields.ts';
import { MAX_BOARD_ROWS, utf8Bytes } from '../../envelope/limits.ts';
import { entries, finalAt, get, noSources, oldestFinal, set, sourcesState, without, type Packed } from './sources.ts';
import { boardRow, type BoardQuery, type BoardRow, type Publication } from '../../envelope/room.ts';

/** Bytes of JSON that the board may take of the room's state. */
const MAX_BOARD_SIZE = 300 * 1024;
/** A final source is remembered so long, in milliseconds, so that a late repeat of its last events is still known. */
const FORGET_FINAL_MS = 3_600_000;
const DEFAULT_PRIORITY = 3;

/** What a room knows of one source. */
const source = z.object({
  /** The last sequence number taken over from it. */
  seq: z.number(),
  life: z.number().optional(),
  row: boardRow.optional(),
  final_at: z.number().optional(),
});
type Source = z.infer<typeof source>;

/** The board by source (a workflow id). `size` is the sum of the entries' bytes of JSON. */
export const boardState = z.object({
  sources: sourcesState,
  size: z.number(),
  truncated: z.boolean(),
});
export type Board = z.infer<typeof boardState>;

function pack(
  name: string,
  {
    seq,
    life = null,
    final_at: finalAt = null,
    row,
  }: Partial<Record<'life' | 'final_at', number | null>> & Pick<Source, 'seq' | 'row'>,
): Packed {
  if (!row) return [seq, life, finalAt, null];
  const since = Date.parse(row.since);
  const exact = !Number.isNaN(since) && formatTimestamp(since) === row.since;
  const { id, kind, status, holder = '', priority = 0, capabilities = [] } = row;
  return [
    seq,
    life,
    finalAt,
    [id === tailOf(name) ? '' : id, kind, status, exact ? since : row.since, holder, priority, ...capabilities],
  ];
}

function unpack(name: string, [seq, life, finalAt, row]: Packed): Source {
  return {
    seq,
    ...(life === null ? {} : { life }),
    ...(finalAt === null ? {} : { final_at: finalAt }),
    ...(row ? { row: unpackRow(name, row) } : {}),
  };
}

function unpackRow(
  name: string,
  [id, kind, status, since, holder, priority, ...capabilities]: NonNullable<Packed[3]>,
): BoardRow {
  return {
    id: id === '' ? tailOf(name) : id,
    kind,
    status,
    ...(holder === '' ? {} : { holder }),
    since: typeof since === 'number' ? formatTimestamp(since) : since,
    ...(priority === 0 ? {} : { priority }),
    ...(capabilities.length === 0 ? {} : { capabilities }),
  };
}

/** The last part of a workflow id, which mostly is what the row is called. */
function tailOf(name: string): string {
  return name.slice(name.lastIndexOf(':') + 1);
}

function sourceOf({ sources }: Board, id: string): Source | undefined {
  const entry = get(sources, id);
  return entry && unpack(id, entry);
}

export const emptyBoard: Board = { sources: noSources, size: 0, truncated: false };

/** The last sequence number of the source of a publication, 0 where it is unknown. */
export function lastSeq(board: Board, publication: Publication): number {
  return fromEarlierStart(board, publication) ? Infinity : (knownOf(board, publication)?.seq ?? 0);
}

/** A late repeat of a source whose name was taken anew since: its numbers are none of the present one's. */
function fromEarlierStart(board: Board, { source: id, life = Infinity }: Publication): boolean {
  return life < (sourceOf(board, id)?.life ?? life);
}

/** What is known of a source; nothing of one whose name was taken anew, since its numbers start over. */
function knownOf(board: Board, { source: id, life }: Publication): Source | undefined {
  const entry = sourceOf(board, id);
  return entry && (life === undefined || life <= (entry.life ?? life)) ? entry : undefined;
}

/** The board after a publication; the oldest final sources go where there is no room left. */
export function record(board: Board, publication: Publication, now: number): Board {
  if (fromEarlierStart(board, publication)) return board;
  const known = knownOf(board, publication);
  const before = get(board.sources, publication.source);
  const life = publication.life ?? known?.life;
  // A late repeat brings back no row that has been replaced since.
  const late = publication.events.length > 0 && (publication.events.at(-1)?.seq ?? 0) <= (known?.seq ?? 0);
  const row = (late ? known?.row : undefined) ?? publication.row ?? known?.row;
  const finalAt = known?.final_at ?? (publication.final ? now : undefined);
  const entry = pack(publication.source, {
    seq: Math.max(known?.seq ?? 0, publication.events.at(-1)?.seq ?? 0),
    life: life ?? null,
    row,
    final_at: finalAt ?? null,
  });
  const size = board.size + sizeOf(publication.source, entry) - (before ? sizeOf(publication.source, before) : 0);
  const sources = set(board.sources, publication.source, entry);
  return shrink({ sources, size, truncated: board.truncated }, before ? undefined : publication.source);
}

function shrink(board: Board, added: string | undefined): Board {
  let { sources, size, truncated } = board;
  while (sources.count > MAX_BOARD_ROWS || size > MAX_BOARD_SIZE) {
    // Where nothing is final, the new source is left out.
    const id = oldestFinal(sources) ?? added;
    const entry = id === undefined ? undefined : get(sources, id);
    if (id === undefined || !entry) break;
    size -= sizeOf(id, entry);
    sources = without(sources, [id]);
    truncated = true;
  }
  return { sources, size, truncated };
}

function sizeOf(id: string, entry: Packed): number {
  return utf8Bytes(JSON.stringify([id, entry]));
}

/** When the next final source is forgotten. */
export function nextForgetting({ sources }: Board): number | null {
  return sources.first_final === null ? null : sources.first_final + FORGET_FINAL_MS;
}

/** The board without the final sources whose hour has passed. */
export function forget(board: Board, now: number): Board {
  const gone = entries(board.sources).filter(([, entry]) => (finalAt(entry) ?? Infinity) + FORGET_FINAL_MS <= now);
  if (gone.length === 0) return board;
  return {
    ...board,
    sources: without(
      board.sources,
      gone.map(([id]) => id),
    ),
    size: gone.reduce((size, [id, entry]) => size - sizeOf(id, entry), board.size),
  };
}

/** A page of the board, the most urgent first, then the longest open. `next` is the next page's `after`. */
export function page(board: Board, query: BoardQuery): { [field: string]: Json } {
  const rows = entries(board.sources)
    .map(([name, entry]) => unpack(name, entry))
    .flatMap(({ row }) => (row && wanted(row, query) ? [{ row, place: placeOf(row) }] : []))
    .sort((a, b) => (a.place < b.place ? -1 : 1));
  const rest = query.after === undefined ? rows : rows.filter(({ place }) => place > (query.after ?? ''));
  const taken = rest.slice(0, query.limit);
  return {
    rows: taken.map(({ row }) => ({ ...row })),
    ...(rest.length > taken.length ? { next: taken.at(-1)?.place ?? '' } : {}),
    board_truncated: board.truncated,
  };
}

function wanted(row: BoardRow, query: BoardQuery): boolean {
  return (
    (query.kind === undefined || row.kind === query.kind) && (query.status === undefined || row.status === query.status)
  );
}

function placeOf(row: BoardRow): string {
  return `${row.priority ?? DEFAULT_PRIORITY} ${row.since} ${row.kind} ${row.id}`;
}

/** How many rows there are of each kind and status. */
export function counts(board: Board): { [what: string]: number } {
  return countByName(entries(board.sources).flatMap(([, [, , , row]]) => (row ? [`${row[1]}.${row[2]}`] : [])));
}
