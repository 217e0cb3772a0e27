import { describe, expect, it } from 'vitest';
import type { Envelope } from '../envelope/envelope.ts';
import { utf8Bytes } from '../envelope/limits.ts';
import { Log } from './log.ts';

function envelopeOf(to?: string, text = ''): Envelope {
  return { type: 'toy.event', id: 'i', from: 'synod', ts: '', ...(to === undefined ? {} : { to }), text };
}

function filled(entries: number, to?: string): Log {
  const log = new Log();
  for (let i = 0; i < entries; i++) log.append(envelopeOf(to));
  return log;
}

function seqs(log: Log, after: number, agent: string, limit = 200): number[] {
  return log.read(after, new Set([agent]), limit).events.map(({ seq }) => seq);
}

describe('numbers', () => {
  it('go from 1 without gaps', () => {
    const log = new Log();
    expect(log.head).toBe(0);
    expect([log.append(envelopeOf()).seq, log.append(envelopeOf()).seq, log.nextSeq]).toEqual([1, 2, 3]);
  });

  it('go on in the next run', () => {
    const log = new Log(undefined, filled(1_500).snapshot());
    expect(log.append(envelopeOf()).seq).toBe(1_501);
    expect(log.kept.entries).toBe(1_000);
  });
});

describe('reading', () => {
  it('of some types passes over the others', () => {
    const log = new Log();
    for (const type of ['toy.event', 'toy.kept', 'toy.event']) log.append({ ...envelopeOf(), type });
    const page = log.read(0, new Set(['ann']), 200, new Set(['toy.kept']));
    expect(page.events.map(({ seq }) => seq)).toEqual([2]);
    expect(page).toMatchObject({ next: 3, truncated: false });
  });

  it('passes over the events of others', () => {
    const log = new Log();
    for (const to of ['ann', 'bob', 'ann', undefined, 'bob']) log.append(envelopeOf(to));
    expect(log.read(0, new Set(['ann']), 200)).toMatchObject({ next: 5, truncated: false });
    expect(seqs(log, 0, 'ann')).toEqual([1, 3, 4]);
    expect(seqs(log, 3, 'ann')).toEqual([4]);
    expect(seqs(log, 5, 'ann')).toEqual([]);
  });

  it('never passes over an undelivered event', () => {
    const log = new Log();
    for (const to of ['ann', 'bob', 'bob', 'ann', 'bob']) log.append(envelopeOf(to));
    const page = log.read(0, new Set(['ann']), 1);
    expect(page.events.map(({ seq }) => seq)).toEqual([1]);
    // It may pass over the two for bob, not over 4.
    expect(page.next).toBe(3);
    expect(seqs(log, page.next, 'ann', 1)).toEqual([4]);
    expect(log.read(3, new Set(['ann']), 1).next).toBe(5);
  });

  it('in pages of any size gives everything once, in order', () => {
    const log = filled(7);
    for (const limit of [1, 2, 3, 7, 8]) {
      const read: number[] = [];
      for (let after = 0; after < log.head;) {
        const page = log.read(after, new Set(['ann']), limit);
        expect(page.events.length).toBeLessThanOrEqual(limit);
        read.push(...page.events.map(({ seq }) => seq));
        after = page.next;
      }
      expect(read).toEqual([1, 2, 3, 4, 5, 6, 7]);
    }
  });

  it('beyond the head says so and goes on from the head', () => {
    expect(filled(3).read(4, new Set(['ann']), 10)).toEqual({ events: [], next: 3, truncated: true });
    expect(filled(3).read(3, new Set(['ann']), 10)).toEqual({ events: [], next: 3, truncated: false });
  });
});

describe('bounds', () => {
  it('are 1,000 entries: the oldest go', () => {
    const log = filled(1_000);
    expect(log.read(0, new Set(), 200)).toMatchObject({ truncated: false });
    log.append(envelopeOf());
    expect(log.kept.entries).toBe(1_000);
    expect(log.read(0, new Set(), 1)).toMatchObject({ truncated: true, events: [{ seq: 2 }] });
    expect(log.read(1, new Set(), 1)).toMatchObject({ truncated: false, events: [{ seq: 2 }] });
  });

  it('says truncated also to one for whom nothing went', () => {
    expect(filled(1_001, 'bob').read(0, new Set(['ann']), 1)).toEqual({ events: [], next: 1_001, truncated: true });
  });

  it('are 384 KiB, counted in UTF-8 of JSON', () => {
    const log = new Log();
    // An event of 4,096 bytes: 96 of them are 384 KiB.
    const empty = utf8Bytes(JSON.stringify({ seq: 10, envelope: envelopeOf(undefined, '') }));
    const text = 'é'.repeat((4_096 - empty) / 2) + 'x'.repeat((4_096 - empty) % 2);
    log.append(envelopeOf(undefined, `${text}x`));
    for (let i = 2; i <= 9; i++) log.append(envelopeOf(undefined, `${text}x`));
    for (let i = 10; i <= 96; i++) log.append(envelopeOf(undefined, text));
    expect(log.kept).toEqual({ entries: 96, bytes: 384 * 1024 });
    log.append(envelopeOf());
    expect(log.kept.entries).toBe(96);
    expect(log.read(0, new Set(), 1)).toMatchObject({ truncated: true, events: [{ seq: 2 }] });
  });

  it('are what the configuration says, at once', () => {
    const log = filled(10);
    log.retain = 4;
    expect(log.kept.entries).toBe(4);
    log.append(envelopeOf());
    expect(seqs(log, 7, 'ann')).toEqual([8, 9, 10, 11]);
    log.retain = undefined;
    for (let i = 0; i < 1_000; i++) log.append(envelopeOf());
    expect(log.kept.entries).toBe(1_000);
  });

  it('count the same after a snapshot', () => {
    const log = new Log();
    for (let i = 0; i < 50; i++) log.append(envelopeOf('ann', 'é'.repeat(i)));
    expect(new Log(undefined, log.snapshot()).kept).toEqual(log.kept);
  });
});
