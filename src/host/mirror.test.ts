import { describe, expect, it } from 'vitest';
import type { LogEvent } from '../envelope/calls.ts';
import { Mirror } from './mirror.ts';

const URGENT = new Set(['toy.rang']);

function event(seq: number, type = 'toy.event', text = ''): LogEvent {
  return { seq, envelope: { type, id: `i${seq}`, from: 'synod', ts: '', text } };
}

function take(mirror: Mirror): readonly LogEvent[] {
  return mirror.take('synod:lab:locks', 0);
}

function filled(count: number, urgentAt: ReadonlySet<number> = new Set()): Mirror {
  const mirror = new Mirror(URGENT);
  for (let seq = 1; seq <= count; seq++) mirror.add(event(seq, urgentAt.has(seq) ? 'toy.rang' : 'toy.event'));
  return mirror;
}

it('publishes what was logged, in order, once', () => {
  const mirror = filled(3);
  expect(mirror.pending).toBe(3);
  expect(take(mirror).map(({ seq }) => seq)).toEqual([1, 2, 3]);
  expect(take(mirror)).toEqual([]);
  expect(mirror.pending).toBe(0);
});

describe('more than 200 envelopes', () => {
  it('are published as at most 200, the last of them a digest of the others', () => {
    const published = take(filled(1_000));
    expect(published).toHaveLength(200);
    expect(published.at(-1)).toMatchObject({
      seq: 1_000,
      envelope: { type: 'synod.digest', from: 'synod', from_seq: 200, to_seq: 1_000, counts: { 'toy.event': 801 } },
    });
    expect(published.slice(0, -1).map(({ seq }) => seq)).toEqual(Array.from({ length: 199 }, (_, i) => i + 1));
  });

  it('count each type', () => {
    const mirror = filled(199);
    for (const [i, type] of ['toy.a', '__proto__', 'toy.a', 'constructor'].entries()) mirror.add(event(200 + i, type));
    const digest = JSON.stringify(take(mirror).at(-1)?.envelope['counts']);
    expect(digest).toBe('{"toy.a":2,"__proto__":1,"constructor":1}');
  });

  it('start anew with the next second', () => {
    const mirror = filled(300);
    take(mirror);
    mirror.add(event(301));
    expect(take(mirror)).toEqual([event(301)]);
  });

  it('keep the urgent ones whole', () => {
    const published = take(filled(1_000, new Set([5, 600, 999])));
    expect(published.filter(({ envelope }) => envelope.type === 'toy.rang').map(({ seq }) => seq)).toEqual([
      5, 600, 999,
    ]);
    expect(published.at(-1)?.envelope).toMatchObject({ type: 'synod.digest', counts: { 'toy.event': 798 } });
  });

  it('never make the numbers go back, so that the room knows repeats', () => {
    const published = take(filled(500, new Set([450, 500]))).map(({ seq }) => seq);
    expect(published).toEqual([...published].sort((a, b) => a - b));
  });
});

it('keeps at most 192 KiB, whatever they are', () => {
  const mirror = new Mirror(URGENT);
  for (let seq = 1; seq <= 100; seq++) mirror.add(event(seq, 'toy.rang', 'é'.repeat(5_000)));
  const { pending } = mirror.snapshot();
  expect(Buffer.byteLength(JSON.stringify(pending))).toBeLessThanOrEqual(192 * 1024 + pending.length + 1);
  const digest = take(mirror).at(-1)?.envelope;
  expect(digest).toMatchObject({ type: 'synod.digest', counts: { 'toy.rang': 100 - pending.length } });
});

describe('what was taken and is not published', () => {
  it('is published by the next run, before what came after', () => {
    const mirror = filled(2);
    take(mirror);
    mirror.add(event(3));
    expect(take(new Mirror(URGENT, mirror.snapshot())).map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });

  it('is published no more once it is published', () => {
    const mirror = filled(2);
    take(mirror);
    mirror.published();
    mirror.add(event(3));
    expect(take(new Mirror(URGENT, mirror.snapshot())).map(({ seq }) => seq)).toEqual([3]);
  });

  it('takes of the same 192 KiB as what comes after it', () => {
    const mirror = new Mirror(URGENT);
    const add = (from: number) => {
      for (let seq = from; seq < from + 100; seq++) mirror.add(event(seq, 'toy.rang', 'é'.repeat(5_000)));
    };
    add(1);
    take(mirror);
    add(101);
    expect(Buffer.byteLength(JSON.stringify(mirror.snapshot()))).toBeLessThanOrEqual(193 * 1024);
    mirror.published();
    add(201);
    expect(mirror.snapshot().pending.length).toBeGreaterThan(15);
  });

  it('is not counted into a digest: the next run publishes it whole', () => {
    const mirror = filled(150);
    take(mirror);
    for (let seq = 151; seq <= 500; seq++) mirror.add(event(seq));
    const digest = take(new Mirror(URGENT, mirror.snapshot())).at(-1);
    expect(digest).toMatchObject({ seq: 500, envelope: { from_seq: 350, to_seq: 500, counts: { 'toy.event': 151 } } });
  });
});
