import { z } from 'zod';
import { formatTimestamp, type Json } from '../../envelope/fields.ts';
import { MAX_BOARD_ROWS, utf8Bytes } from '../../envelope/limits.ts';
import { boardRow, type BoardQuery, type BoardRow, type Publication } from '../../envelope/room.ts';

/** Bytes of JSON that the board may take of the room's state. */
const MAX_BOARD_SIZE = 300 * 1024;
/** A final source is remembered so long, in milliseconds, so that a late repeat of its last words is still known. */
const FORGET_FINAL_MS = 3_600_000;
const DEFAULT_PRIORITY = 3;
/** Where a packed source says since when it is final; null where it is not. */
const FINAL_AT = 2;

/** What a room knows of one source. */
const source = z.object({
  /** The last sequence number taken over from it. */
  seq: z.number(),
  life: z.number().optional(),
  row: boardRow.optional(),
  final_at: z.number().optional(),
});
type Source = z.infer<typeof source>;

/** A source as the state holds it, without names of fields, so that three thousand fit: see {@link pack}. */
const packed = z.tuple([
  z.number(),
  z.number().nullable(),
  z.number().nullable(),
  z
    .tuple([z.string(), z.string(), z.string(), z.union([z.string(), z.number()]), z.string(), z.number()])
    .rest(z.string())
    .nullable(),
]);
type Packed = z.infer<typeof packed>;

/** The board by source (a workflow id). `size` is the sum of the entries' bytes of JSON. */
export const boardState = z.object({
  sources: z.record(z.string(), packed),
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
  const entry = Object.hasOwn(sources, id) ? sources[id] : undefined;
  return entry && unpack(id, entry);
}

export const emptyBoard: Board = { sources: {}, size: 0, truncated: false };

/** The last sequence number of the source of a publication, 0 where it is unknown. */
export function lastSeq(board: Board, publication: Publication): number {
  return fromEarlierLife(board, publication) ? Infinity : (knownOf(board, publication)?.seq ?? 0);
}

/** A late repeat of a source whose name was taken anew since: its numbers are none of the present one's. */
function fromEarlierLife(board: Board, { source: id, life = Infinity }: Publication): boolean {
  return life < (sourceOf(board, id)?.life ?? life);
}

/** What is known of a source; nothing of one whose name was taken anew, since its numbers start over. */
function knownOf(board: Board, { source: id, life }: Publication): Source | undefined {
  const entry = sourceOf(board, id);
  return entry && (life === undefined || life <= (entry.life ?? life)) ? entry : undefined;
}

/** The board after a publication; the oldest final sources go where there is no room left. */
export function record(board: Board, publication: Publication, now: number): Board {
  if (fromEarlierLife(board, publication)) return board;
  const known = knownOf(board, publication);
  const before = Object.hasOwn(board.sources, publication.source) ? board.sources[publication.source] : undefined;
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
  const sources = { ...board.sources, [publication.source]: entry };
  return shrink({ sources, size, truncated: board.truncated }, before ? undefined : publication.source);
}

function shrink(board: Board, newcomer: string | undefined): Board {
  const { sources } = board;
  let { size, truncated } = board;
  let count = Object.keys(sources).length;
  if (count <= MAX_BOARD_ROWS && size <= MAX_BOARD_SIZE) return board;
  const finals = Object.entries(sources)
    .filter(([, entry]) => entry[FINAL_AT] !== null)
    .sort(([, a], [, b]) => (a[FINAL_AT] ?? 0) - (b[FINAL_AT] ?? 0))
    .map(([id]) => id);
  // With nothing final to let go, the newcomer is what the board cannot take.
  for (const id of newcomer === undefined ? finals : [...finals, newcomer]) {
    if (count <= MAX_BOARD_ROWS && size <= MAX_BOARD_SIZE) break;
    const entry = sources[id];
    if (!entry) continue;
    size -= sizeOf(id, entry);
    count -= 1;
    delete sources[id];
    truncated = true;
  }
  return { sources, size, truncated };
}

function sizeOf(id: string, entry: Packed): number {
  return utf8Bytes(JSON.stringify([id, entry]));
}

/** When the next final source is forgotten. */
export function nextForgetting(board: Board): number | null {
  let next: number | null = null;
  for (const { [FINAL_AT]: at } of Object.values(board.sources)) {
    if (at !== null && (next === null || at + FORGET_FINAL_MS < next)) next = at + FORGET_FINAL_MS;
  }
  return next;
}

/** The board without the final sources whose hour has passed. */
export function forget(board: Board, now: number): Board {
  const gone = Object.entries(board.sources).filter(
    ([, { [FINAL_AT]: at }]) => at !== null && at + FORGET_FINAL_MS <= now,
  );
  if (gone.length === 0) return board;
  const names = new Set(gone.map(([id]) => id));
  return {
    ...board,
    sources: Object.fromEntries(Object.entries(board.sources).filter(([id]) => !names.has(id))),
    size: gone.reduce((size, [id, entry]) => size - sizeOf(id, entry), board.size),
  };
}

/** A page of the board, the most urgent first, then the longest open. `next` is the next page's `after`. */
export function page(board: Board, query: BoardQuery): { [field: string]: Json } {
  const rows = Object.entries(board.sources)
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
  const result: { [what: string]: number } = {};
  for (const [, , , row] of Object.values(board.sources)) {
    if (!row) continue;
    const what = `${row[1]}.${row[2]}`;
    result[what] = (Object.hasOwn(result, what) ? (result[what] ?? 0) : 0) + 1;
  }
  return result;
}
