import { expect, it, vi } from 'vitest';
import type { Envelope } from '../../envelope/envelope.ts';
import type { Json } from '../../envelope/fields.ts';
import { Candidates } from './candidates.ts';

let seq = 0;
function note(
  candidates: Candidates,
  type: string,
  taskId: string,
  fields: { [field: string]: Json } = {},
  now = '',
): void {
  const envelope: Envelope = { type, id: `m-${seq}`, from: 'producer', ts: '', task_id: taskId, ...fields };
  candidates.note({ seq: (seq += 1), envelope }, now || `2026-01-01T00:00:${String(seq).padStart(2, '0')}.000Z`);
}
const row = (id: string, fields: { [field: string]: Json } = {}) => ({
  id,
  kind: 'task',
  status: 'open',
  since: '2026-01-01T00:00:00.000Z',
  ...fields,
});
const takeAll = (candidates: Candidates): string[] => {
  const ids: string[] = [];
  for (let one = candidates.take(); one; one = candidates.take()) ids.push(one.taskId);
  return ids;
};

it('takes the most urgent, then the longest open, each once', () => {
  const candidates = new Candidates([]);
  note(candidates, 'task.announce', 'late', { priority: 2 }, '2026-01-01T00:00:09.000Z');
  note(candidates, 'task.announce', 'usual');
  note(candidates, 'task.announce', 'urgent', { priority: 1 }, '2026-01-01T00:00:10.000Z');
  note(candidates, 'task.announce', 'early', { priority: 2 }, '2026-01-01T00:00:08.000Z');
  expect(takeAll(candidates)).toEqual(['urgent', 'early', 'late', 'usual']);
});

it('takes what an agent has lost before what nobody has begun, and not before what is more urgent', () => {
  const candidates = new Candidates([]);
  note(candidates, 'task.announce', 'first');
  note(candidates, 'task.announce', 'lost', { from: 'synod', attempt: 2 });
  note(candidates, 'task.announce', 'urgent', { priority: 1 });
  expect(takeAll(candidates)).toEqual(['urgent', 'lost', 'first']);
});

it('passes over a task that asks for more than it can', () => {
  const candidates = new Candidates(['typescript']);
  note(candidates, 'task.announce', 'both', { capabilities: ['typescript', 'rust'] });
  note(candidates, 'task.announce', 'one', { capabilities: ['typescript'] });
  note(candidates, 'task.announce', 'none', { capabilities: [] });
  expect(takeAll(candidates)).toEqual(['one', 'none']);
});

it.each(['task.closed', 'task.completed', 'task.failed', 'task.cancelled'])('drops a task at %s', (type) => {
  const candidates = new Candidates([]);
  note(candidates, 'task.announce', 't');
  note(candidates, type, 't');
  expect(candidates.take()).toBeUndefined();
});

it('keeps a task of which only one agent was sent that it is closed', () => {
  const candidates = new Candidates([]);
  note(candidates, 'task.announce', 't');
  note(candidates, 'task.closed', 't', { to: 'somebody' });
  expect(candidates.take()?.taskId).toBe('t');
});

it('aborts a taken one that is watched when somebody else has it, and no other', () => {
  const candidates = new Candidates([]);
  note(candidates, 'task.announce', 'mine');
  note(candidates, 'task.announce', 'other');
  const mine = candidates.take();
  const other = candidates.take();
  if (!mine || !other) throw new Error('two were announced');
  candidates.watch(mine);
  const unwatch = candidates.watch(other);
  note(candidates, 'task.closed', 'mine');
  expect([mine.gone.signal.aborted, other.gone.signal.aborted]).toEqual([true, false]);
  unwatch();
  note(candidates, 'task.closed', 'other');
  expect(other.gone.signal.aborted).toBe(false);
});

it('learns from every page of the board what came before', async () => {
  const candidates = new Candidates(['rust']);
  const view = vi.fn<(query: { [field: string]: Json }) => Promise<object>>(async (query) =>
    query['after'] === undefined
      ? { rows: [row('b', { priority: 4 }), row('go', { capabilities: ['go'] })], next: 'go' }
      : { rows: [row('a', { priority: 1, capabilities: ['rust'] })] },
  );
  await candidates.refresh(view);
  expect(view.mock.calls.map(([query]) => query['after'])).toEqual([undefined, 'go']);
  expect(takeAll(candidates)).toEqual(['a', 'b']);
});

it('takes a room that is not there for empty, and a page that cannot be read for a failure', async () => {
  const candidates = new Candidates([]);
  await candidates.refresh(async () => undefined);
  await expect(candidates.refresh(async () => ({ rows: [{ id: 't' }] }))).rejects.toThrow('kind');
  expect(takeAll(candidates)).toEqual([]);
});

it('keeps what the log said of a task that the board names too', async () => {
  const candidates = new Candidates([]);
  note(candidates, 'task.announce', 't', { title: 'from the log' });
  await candidates.refresh(async () => ({ rows: [row('t')] }));
  expect(candidates.take()?.announcement).toMatchObject({ title: 'from the log' });
});

it('wakes whoever waits when there is something to take, or when the signal fires', async () => {
  const candidates = new Candidates([]);
  const stop = new AbortController();
  const added = candidates.changed(stop.signal);
  note(candidates, 'task.announce', 't');
  await expect(added).resolves.toBeUndefined();
  await expect(candidates.changed(stop.signal)).resolves.toBeUndefined();
  candidates.take();
  const stopped = candidates.changed(stop.signal);
  stop.abort();
  await expect(stopped).resolves.toBeUndefined();
});
