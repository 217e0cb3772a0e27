import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Sorted } from './sorted.ts';

const byNumber = (a: number, b: number) => a - b;
const change = fc.record({ key: fc.integer({ min: 0, max: 60 }), add: fc.boolean() });

function depthOf({ root }: Sorted<number, string>): number {
  const depth = (node: typeof root): number => (node ? 1 + Math.max(depth(node.left), depth(node.right)) : 0);
  return depth(root);
}

describe('a sorted map', () => {
  it('is the same as a plain one after any changes, and leaves the earlier ones as they were', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 200 }), fc.integer({ min: -1, max: 61 }), (changes, from) => {
        let sorted = new Sorted<number, string>(byNumber);
        const plain = new Map<number, string>();
        const earlier: [Sorted<number, string>, string][] = [];
        for (const [i, { key, add }] of changes.entries()) {
          earlier.push([sorted, JSON.stringify([...sorted.entries()])]);
          sorted = add ? sorted.set(key, `${i}`) : sorted.delete(key);
          if (add) plain.set(key, `${i}`);
          else plain.delete(key);
        }
        const all = [...plain].sort(([a], [b]) => a - b);
        const rest = all.filter(([key]) => key >= from);
        expect([...sorted.entries()]).toEqual(all);
        expect([...sorted.entries(from)]).toEqual(rest);
        expect(sorted.first()).toEqual(all[0]);
        expect(sorted.first(from)).toEqual(rest[0]);
        expect(sorted.rank(from)).toBe(all.length - rest.length);
        expect(sorted.size).toBe(all.length);
        expect(sorted.get(from)).toBe(plain.get(from));
        for (const [map, before] of earlier) expect(JSON.stringify([...map.entries()])).toBe(before);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['rising', (i: number) => i],
    ['falling', (i: number) => -i],
    ['scattered', (i: number) => (i * 7_919) % 4_096],
  ])('stays flat with %s keys, also while half of them go', (_name, keyOf) => {
    let sorted = new Sorted<number, string>(byNumber);
    for (let i = 0; i < 4_096; i++) sorted = sorted.set(keyOf(i), '');
    expect(depthOf(sorted)).toBeLessThan(24);
    for (let i = 0; i < 2_048; i++) sorted = sorted.delete(keyOf(i));
    expect(sorted.size).toBe(2_048);
    expect(depthOf(sorted)).toBeLessThan(24);
  });

  it('is itself where nothing is to be deleted', () => {
    const sorted = new Sorted<number, string>(byNumber).set(1, 'one');
    expect(sorted.delete(2)).toBe(sorted);
    expect(sorted.delete(1).size).toBe(0);
  });
});
