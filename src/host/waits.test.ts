import { describe, expect, it } from 'vitest';
import type { Received } from '../envelope/calls.ts';
import type { Envelope } from '../envelope/envelope.ts';
import { Waits, type Wait } from './waits.ts';

interface Ended {
  readonly name: string;
  readonly pause: number | undefined;
}

/** Waits whose ends are noted, each by its name. */
function setUp() {
  const ended: Ended[] = [];
  const pauses = new Map<Wait, number | undefined>();
  const waits = new Waits((wait, pause): Received => {
    pauses.set(wait, pause);
    return { events: [], next: 0, truncated: false, now: '' };
  });
  function add(name: string, fields: Partial<Wait> = {}, max = 3, now = 0): void {
    const wait: Wait = {
      reader: undefined,
      agents: new Set([name]),
      after: 0,
      limit: 200,
      until: 20_000,
      resolve: () => ended.push({ name, pause: pauses.get(wait) }),
      ...fields,
    };
    waits.add(wait, max, now);
  }
  return { waits, add, ended, names: () => ended.map(({ name }) => name) };
}

function event(seq: number, to?: string): { seq: number; envelope: Envelope } {
  return { seq, envelope: { type: 'toy.event', id: 'i', from: 'synod', ts: '', ...(to === undefined ? {} : { to }) } };
}

describe('waits held', () => {
  it('for some types wake at nothing else', () => {
    const { waits, add, names } = setUp();
    add('picky', { types: new Set(['toy.kept']) });
    waits.wake([event(1)]);
    expect(names()).toEqual([]);
    const { seq, envelope } = event(2);
    waits.wake([{ seq, envelope: { ...envelope, type: 'toy.kept' } }]);
    expect(names()).toEqual(['picky']);
  });

  it('are as many as allowed; one too many ends the oldest, with a pause', () => {
    const { waits, add, ended } = setUp();
    for (const name of ['a', 'b', 'c']) add(name);
    expect(ended).toEqual([]);
    add('d');
    expect(ended).toEqual([{ name: 'a', pause: 0.2 }]);
    expect(waits.count).toBe(3);
  });

  it('end down to a lowered bound', () => {
    const { waits, add, names } = setUp();
    for (const name of ['a', 'b', 'c']) add(name);
    add('d', {}, 1);
    expect(names()).toEqual(['a', 'b', 'c']);
    expect(waits.count).toBe(1);
  });

  it('are one a reader: its newer one ends its older one, without a pause', () => {
    const { waits, add, ended } = setUp();
    for (const name of ['a', 'b', 'c']) add(name, { reader: name });
    add('b2', { reader: 'b' });
    expect(ended).toEqual([{ name: 'b', pause: 0 }]);
    expect(waits.count).toBe(3);
  });

  it('without a reader never end each other for that', () => {
    const { add, ended } = setUp();
    add('a');
    add('b');
    expect(ended).toEqual([]);
  });
});

describe('the pause', () => {
  function lastPause(callers: number, apartMs = 0): number {
    const { add, ended } = setUp();
    for (let i = 0; i < 3 + callers; i++) add(`a${i}`, { until: 1e9 }, 3, i * apartMs);
    return ended.at(-1)?.pause ?? Number.NaN;
  }

  it('grows with the number of callers, up to the longest wait', () => {
    expect(lastPause(1)).toBeLessThan(lastPause(50));
    expect(lastPause(50)).toBeLessThan(lastPause(200));
    expect(lastPause(5_000)).toBe(20);
  });

  it('forgets callers of long ago', () => {
    expect(lastPause(100, 20_000)).toBe(lastPause(1));
  });
});

describe('an event', () => {
  it('ends the waits that it is for and leaves the others', () => {
    const { waits, add, names } = setUp();
    for (const name of ['a', 'b', 'c']) add(name);
    waits.wake([event(1, 'b')]);
    expect(names()).toEqual(['b']);
    waits.wake([event(2)]);
    expect(names()).toEqual(['b', 'a', 'c']);
    expect(waits.count).toBe(0);
  });

  it('that was read before ends none', () => {
    const { waits, add, names } = setUp();
    add('a', { after: 5 });
    waits.wake([event(5, 'a')]);
    expect(names()).toEqual([]);
    waits.wake([event(6, 'a')]);
    expect(names()).toEqual(['a']);
  });
});

describe('the end of the time', () => {
  it('comes at its millisecond', () => {
    const { waits, add, ended } = setUp();
    add('a', { until: 100 });
    add('b', { until: 50 });
    expect(waits.nextDeadline()).toBe(50);
    waits.expire(49);
    expect(ended).toEqual([]);
    waits.expire(50);
    expect(ended).toEqual([{ name: 'b', pause: undefined }]);
    expect(waits.nextDeadline()).toBe(100);
    waits.expire(1_000);
    expect(waits.nextDeadline()).toBeNull();
  });

  it('comes for all when the run drains', () => {
    const { waits, add, ended } = setUp();
    add('a');
    add('b');
    waits.drain(0.5);
    expect(ended).toEqual([
      { name: 'a', pause: 0.5 },
      { name: 'b', pause: 0.5 },
    ]);
    expect(waits.count).toBe(0);
  });
});
