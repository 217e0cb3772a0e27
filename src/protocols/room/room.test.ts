import { describe, expect, it } from 'vitest';
import type { Envelope } from '../../envelope/envelope.ts';
import type { BoardRow, Publication } from '../../envelope/room.ts';
import { Host } from '../../host/host.ts';
import { snapshotSchema } from '../../host/snapshot.ts';
import { room } from './protocol.ts';

const HOUR = 3_600_000;

function open(): Host<ReturnType<typeof room.initial>, Parameters<typeof room.answer>[0]> {
  return new Host(room, { workflowId: 'synod:lab:room', room: 'lab', config: {}, now: 0 });
}

function row(id: string, fields: Partial<BoardRow> = {}): BoardRow {
  return { id, kind: 'task', status: 'open', since: '2026-01-01T00:00:00.000Z', ...fields };
}

/** What the task `id` publishes: the entries with these numbers, and its row. */
function published(id: string, seqs: readonly number[], more: Partial<Publication> = {}): Publication {
  const events = seqs.map((seq) => ({
    seq,
    envelope: { type: 'task.noted', id: `${id}-${seq}`, from: 'synod', ts: '', seq },
  }));
  return { source: `synod:lab:task:${id}`, events, row: row(id), ...more };
}

function log(host: ReturnType<typeof open>): Envelope[] {
  const found: Envelope[] = [];
  host.receive({ agents: ['*'], after: 0, wait_seconds: 0, limit: 200 }, 0, ({ events }) =>
    found.push(...events.map(({ envelope }) => envelope)),
  );
  return found;
}

function board(
  host: ReturnType<typeof open>,
  query: object = {},
): { ids: string[]; next: unknown; truncated: unknown } {
  const { rows, next, board_truncated: truncated } = host.view({ board: true, ...query }, 0);
  const ids = Array.isArray(rows) ? rows.map((each) => String(Reflect.get(Object(each), 'id'))) : [];
  return { ids, next, truncated };
}

describe('posts', () => {
  const post = (n: number) => ({ type: 'room.post', id: `p${n}`, from: 'ann', ts: '', text: `${n}` });

  function page(host: ReturnType<typeof open>, after: number, limit: number): { seqs: number[]; next: number } {
    const pages: { seqs: number[]; next: number }[] = [];
    host.receive({ agents: ['bob'], after, wait_seconds: 0, limit }, 0, ({ events, next }) =>
      pages.push({ seqs: events.map(({ seq }) => seq), next }),
    );
    const [one] = pages;
    if (!one) throw new Error('receive did not answer at once');
    return one;
  }

  it('stand at 1, 2, 3, and a repeat gets the same number', () => {
    const host = open();
    const numbers = () => host.request([1, 2, 3].map(post), 0).map(([reply]) => [reply?.type, reply?.seq]);
    const accepted = [1, 2, 3].map((seq) => ['room.accepted', seq]);
    expect(numbers()).toEqual(accepted);
    expect(log(host).map(({ type, seq, text }) => [type, seq, text])).toEqual(
      [1, 2, 3].map((n) => ['room.post', n, `${n}`]),
    );
    expect(numbers()).toEqual(accepted);
    expect(log(host)).toHaveLength(3);
  });

  it('fill a page that ends at its last event', () => {
    const host = open();
    host.request([1, 2, 3].map(post), 0);
    expect(page(host, 0, 2)).toEqual({ seqs: [1, 2], next: 2 });
    expect(page(host, 2, 1)).toEqual({ seqs: [3], next: 3 });
  });

  it('are kept, the latest 1,000 of them', () => {
    const host = open();
    for (let n = 1; n <= 1_001; n++) host.request([post(n)], 0);
    const kept: number[] = [];
    for (let after = 1; after < 1_001;) {
      const read = page(host, after, 200);
      kept.push(...read.seqs);
      after = read.next;
    }
    expect(kept).toEqual(Array.from({ length: 1_000 }, (_, i) => i + 2));
    expect(host.view(undefined, 0)['log']).toMatchObject({ head: 1_001, entries: 1_000 });
  });
});

describe('what is published', () => {
  it('gets the room’s own numbers, and keeps where it is from', () => {
    const host = open();
    host.publish(published('a', [1, 2]), 0);
    host.publish(published('b', [1]), 0);
    expect(log(host)).toMatchObject([
      { seq: 1, id: 'a-1', source: 'synod:lab:task:a', source_seq: 1 },
      { seq: 2, id: 'a-2', source: 'synod:lab:task:a', source_seq: 2 },
      { seq: 3, id: 'b-1', source: 'synod:lab:task:b', source_seq: 1 },
    ]);
  });

  it('is logged once, however it is repeated or overlaps', () => {
    const host = open();
    for (const seqs of [[1, 2], [1, 2], [2, 3], [1], [3, 4, 5], [5]]) host.publish(published('a', seqs), 0);
    expect(log(host).map(({ source_seq }) => source_seq)).toEqual([1, 2, 3, 4, 5]);
  });

  it('is still known in the next run', () => {
    const host = open();
    host.publish(published('a', [1, 2]), 0);
    const snapshot = snapshotSchema(room.state).parse(JSON.parse(JSON.stringify(host.snapshot())));
    const next = new Host(room, { workflowId: 'synod:lab:room', room: 'lab', config: {}, now: 0, snapshot });
    next.publish(published('a', [1, 2, 3]), 0);
    expect(log(next).map(({ source_seq }) => source_seq)).toEqual([1, 2, 3]);
  });

  it('by a source of any name is known in the next run, and on the board', () => {
    const named = { ...published('a', [1]), source: '__proto__' };
    const first = open();
    first.publish(named, 0);
    const snapshot = snapshotSchema(room.state).parse(JSON.parse(JSON.stringify(first.snapshot())));
    const next = new Host(room, { workflowId: 'synod:lab:room', room: 'lab', config: {}, now: 0, snapshot });
    next.publish(named, 0);
    expect(log(next)).toHaveLength(1);
    expect(board(next).ids).toEqual(['a']);
  });

  it('late does not bring back an earlier row', () => {
    const host = open();
    host.publish(published('a', [1], { row: row('a', { status: 'open' }) }), 0);
    host.publish(published('a', [2], { row: row('a', { status: 'held' }) }), 0);
    host.publish(published('a', [1], { row: row('a', { status: 'open' }) }), 0);
    expect(board(host, { status: 'held' }).ids).toEqual(['a']);
  });

  it('by an earlier task of the name changes nothing of the present one', () => {
    const host = open();
    host.publish(published('a', [1], { life: 9, row: row('a', { status: 'held' }) }), 0);
    host.publish(published('a', [1, 2], { life: 5, final: true }), 0);
    host.publish(published('a', [1, 2], { life: 9, row: row('a', { status: 'held' }) }), 0);
    expect(log(host).map(({ source_seq }) => source_seq)).toEqual([1, 2]);
    expect(board(host, { status: 'held' }).ids).toEqual(['a']);
    expect(host.nextDeadline()).toBeNull();
  });

  it('is for the agent that it is addressed to, and ends its wait', () => {
    const host = open();
    const woken: string[] = [];
    for (const agent of ['bob', 'cleo']) {
      host.receive({ agents: [agent], after: 0, wait_seconds: 20, limit: 200 }, 0, () => woken.push(agent));
    }
    const envelope = { type: 'task.ack', id: 'x', from: 'synod', ts: '', to: 'bob' };
    host.publish(published('a', [], { events: [{ seq: 1, envelope }] }), 0);
    expect(woken).toEqual(['bob']);
  });
});

describe('an ended source', () => {
  it('is remembered for an hour, then forgotten', () => {
    const host = open();
    host.publish(published('a', [1], { final: true }), 1_000);
    host.publish(published('b', [1]), 1_000);
    expect(host.nextDeadline()?.at).toBe(1_000 + HOUR);
    host.tick(1_000 + HOUR - 1);
    host.publish(published('a', [1]), 1_000 + HOUR - 1);
    expect(board(host).ids).toEqual(['a', 'b']);
    expect(log(host)).toHaveLength(2);
    host.tick(1_000 + HOUR);
    expect(board(host).ids).toEqual(['b']);
    expect(host.nextDeadline()).toBeNull();
  });

  it('is not kept longer for what it repeats', () => {
    const host = open();
    host.publish(published('a', [1], { final: true }), 0);
    host.publish(published('a', [1], { final: true }), HOUR - 1);
    host.tick(HOUR);
    expect(board(host).ids).toEqual([]);
  });
});

describe('the board', () => {
  it('has the most urgent first, then the longest open; 3 where none is given', () => {
    const host = open();
    const rows = [
      row('late', { since: '2026-01-02T00:00:00.000Z' }),
      row('urgent', { since: '2026-01-03T00:00:00.000Z', priority: 1 }),
      row('idle', { since: '2026-01-01T00:00:00.000Z', priority: 5 }),
      row('early', { since: '2026-01-01T00:00:00.000Z', priority: 3 }),
    ];
    for (const each of rows) host.publish(published(each.id, [1], { row: each }), 0);
    expect(board(host)).toEqual({ ids: ['urgent', 'early', 'late', 'idle'], next: undefined, truncated: false });
  });

  it('can be asked for a kind, and for a status', () => {
    const host = open();
    host.publish(published('a', [1], { row: row('a') }), 0);
    host.publish(published('b', [1], { row: row('b', { status: 'held', holder: 'bob' }) }), 0);
    host.publish(published('c', [1], { row: row('c', { kind: 'barrier' }) }), 0);
    expect(board(host, { kind: 'task' }).ids).toEqual(['a', 'b']);
    expect(board(host, { status: 'held' }).ids).toEqual(['b']);
    expect(board(host, { kind: 'task', status: 'open' }).ids).toEqual(['a']);
    expect(board(host, { kind: 'lock' }).ids).toEqual([]);
  });

  it('shows what a task needs, and who holds it', () => {
    const host = open();
    const full = row('a', { status: 'held', holder: 'bob', priority: 2, capabilities: ['sort'] });
    host.publish(published('a', [1], { row: full }), 0);
    expect(host.view({ board: true }, 0)['rows']).toEqual([full]);
  });

  it.each([1, 7, 200, 1_000])('of 1,000 rows in pages of %d has every row once, in order', (limit) => {
    const host = open();
    const ids = Array.from({ length: 1_000 }, (_, i) => `${1_000 + i}`);
    for (const id of ids) host.publish(published(id, [1]), 0);
    const found: string[] = [];
    for (let after: unknown = ''; after !== undefined;) {
      const page = board(host, { limit, ...(after === '' ? {} : { after }) });
      found.push(...page.ids);
      after = page.next;
    }
    expect(found).toEqual(ids);
  });

  it.each([{ board: false }, { board: true, limit: 0 }, { board: true, limit: 1_001 }, { board: true, kind: '' }])(
    'does not answer to %j',
    (query) => {
      expect(() => open().view(query, 0)).toThrow(/^invalid_envelope: /);
    },
  );

  it.each(['board', 5, {}])('is not what %j asks for: that gets the whole view', (query) => {
    expect(open().view(query, 0)).toEqual(open().view(undefined, 0));
  });
});

describe('a full board', () => {
  /** As small as a row can be, so that 3,000 are what bounds it. */
  function small(n: number, final?: true): Publication {
    const small = { id: `${n}`, kind: 't', status: 'o', since: `${10_000 + n}` };
    return {
      source: `s${n}`,
      events: [{ seq: 1, envelope: { type: 'a.b', id: 'i', from: 'synod', ts: '' } }],
      row: small,
      ...(final ? { final } : {}),
    };
  }

  it('holds 3,000 rows; the oldest final one goes for the next, and that is said', () => {
    const host = open();
    for (let n = 1; n <= 3_000; n++) host.publish(small(n), n);
    host.publish(small(7, true), 3_001);
    host.publish(small(5, true), 3_002);
    expect(host.view(undefined, 0)).toMatchObject({ board: { 't.o': 3_000 }, board_truncated: false });
    host.publish(small(3_001), 4_000);
    expect(host.view(undefined, 0)).toMatchObject({ board: { 't.o': 3_000 }, board_truncated: true });
    expect(board(host, { limit: 7 })).toMatchObject({ ids: ['1', '2', '3', '4', '5', '6', '8'], truncated: true });
  });

  it('and as many agents stay within the budget of the state, in whatever script', () => {
    const host = open();
    for (let n = 0; n < 600; n++) host.publish(published(`${n}`, [1], { row: row(`${n}${'日'.repeat(190)}`) }), n);
    expect(board(host).truncated).toBe(true);
    for (let n = 0; n < 600; n++) {
      const join = { type: 'room.join', id: 'm', from: `a${n}`, ts: '', kind: 'worker', purpose: '日'.repeat(300) };
      expect(host.request([join], 0)[0]?.[0]?.type).toBe('room.accepted');
    }
    expect(Buffer.byteLength(JSON.stringify(host.snapshot().state))).toBeLessThanOrEqual(384 * 1024);
    // The latest are there, the oldest went.
    expect(JSON.stringify(host.view(undefined, 0)['agents'])).toMatch(/^\[(?!.*"a0").*"a599"/);
  });
});

describe('introductions', () => {
  const join = { type: 'room.join', ts: '', kind: 'worker', purpose: 'sorting' };

  it('are shown, and logged again only when something is new', () => {
    const host = open();
    const types = (purpose: string, id: string) =>
      host.request([{ ...join, id, from: 'ann', purpose }], 0).flatMap((each) => each.map(({ type }) => type));
    expect(types('sorting', '1')).toEqual(['room.accepted']);
    expect(types('sorting', '2')).toEqual(['room.accepted']);
    expect(log(host).filter(({ type }) => type === 'room.join')).toHaveLength(1);
    types('counting', '3');
    expect(log(host).filter(({ type }) => type === 'room.join')).toHaveLength(2);
    expect(host.view(undefined, 0)['agents']).toMatchObject([{ id: 'ann', kind: 'worker', purpose: 'counting' }]);
  });
});
