import { describe, expect, it } from 'vitest';
import type { Envelope } from '../../envelope/envelope.ts';
import { yieldHint } from './breakRoom.ts';

const NOW = Date.parse('2026-01-01T12:00:00.000Z');
/** A time some seconds ago, as primitives write it. */
const ago = (seconds: number): string => new Date(NOW - seconds * 1_000).toISOString();

function log(...envelopes: (Partial<Envelope> & { type: string })[]) {
  return envelopes.map((envelope, i) => ({
    seq: i + 1,
    envelope: { id: `m-${i}`, from: 'synod', ts: ago(0), ...envelope },
  }));
}
// What a sender says of the time is wrong on purpose: the hour is right only in what answers it.
const post = (from: string, text: string, seconds: number) => [
  { type: 'room.post', from, text, ts: '1999-12-31' },
  { type: 'room.accepted', to: from, ts: ago(seconds) },
];
const hint = (entries: ReturnType<typeof log>, taskId = 't-1', withinMs = 5_000) =>
  yieldHint(entries, { agent: 'me', taskId, now: NOW, withinMs });

describe('whether to yield', () => {
  it('depends on what others said of the task, by the time of those who do not say it themselves', () => {
    expect(hint(log())).toEqual({ yield: false });
    expect(hint(log(...post('bo', 'Starting: t-1.', 4)))).toMatchObject({
      yield: true,
      to: 'bo',
      because: { id: 'm-0' },
    });
    expect(hint(log(...post('bo', 'Starting: t-1.', 6)))).toEqual({ yield: false });
    expect(hint(log(...post('bo', 'Starting: t-1.', 5)))).toEqual({ yield: false });
    expect(hint(log(...post('me', 'Starting: t-1.', 1)))).toEqual({ yield: false });
  });

  it('takes an entry that nothing follows as said just now', () => {
    expect(hint(log({ type: 'room.post', from: 'bo', text: 't-1' }))).toMatchObject({ yield: true });
  });

  it.each([
    ['I take t-1', true],
    ['(t-1)', true],
    ['t-1: mine', true],
    ['t-12', false],
    ['not-t-1', false],
    ['t-1.2', false],
    ['T-1', false],
    ['task 1', false],
  ])('%j names the task: %s', (text, yes) => {
    expect(hint(log(...post('bo', text, 1))).yield).toBe(yes);
  });

  it('takes a name as it is, whatever it would mean in a pattern', () => {
    for (const name of ['a.b', '(x', 'a|b', '[', '\\d', 'a b/c-d', '日本']) {
      expect(hint(log(...post('bo', `on ${name} now`, 1)), name).yield).toBe(true);
      expect(hint(log(...post('bo', 'on aXb 5 now', 1)), name).yield).toBe(false);
    }
  });

  it('depends on claims and on who has got it, and not on other tasks', () => {
    const claim = { type: 'task.claim', from: 'bo', task_id: 't-1' };
    const ack = { type: 'task.ack', to: 'bo', task_id: 't-1', ts: ago(2) };
    const closed = { type: 'task.closed', holder: 'bo', task_id: 't-1', ts: ago(2) };
    for (const entry of [claim, ack, closed]) expect(hint(log(entry))).toMatchObject({ yield: true, to: 'bo' });
    for (const entry of [claim, ack, closed]) expect(hint(log({ ...entry, task_id: 't-2' }))).toEqual({ yield: false });
    expect(hint(log({ ...ack, to: 'me' }))).toEqual({ yield: false });
    expect(hint(log({ type: 'task.complete', from: 'bo', task_id: 't-1' }))).toEqual({ yield: false });
  });

  it('begins anew when the task is announced again', () => {
    const claim = { type: 'task.claim', from: 'bo', task_id: 't-1' };
    expect(hint(log(claim, { type: 'task.announce', task_id: 't-1', attempt: 2 }))).toEqual({ yield: false });
    expect(hint(log(claim, { type: 'task.announce', task_id: 't-2', attempt: 2 }))).toMatchObject({ yield: true });
    // One that has failed, and is a new task.
    const again = { type: 'task.announce', task_id: 't-1', attempt: 1 };
    expect(hint(log(again, { ...again, attempt: 2 }, claim, again))).toEqual({ yield: false });
  });

  it('does not when the first announcement reaches the room after what is said of the task', () => {
    const said = post('bo', 'Starting: t-1', 1);
    for (const attempt of [{}, { attempt: 1 }])
      expect(hint(log(...said, { type: 'task.announce', task_id: 't-1', ...attempt }))).toMatchObject({ to: 'bo' });
  });
});
