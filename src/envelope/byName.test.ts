import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { byName, countByName, fromNames, valueOf } from './byName.ts';
import { canonicalJson } from './canonical.ts';
import { explain, parseErrors } from './refusal.ts';

/** Names that every object inherits, or that an assignment takes for its prototype. */
const NAMES = ['__proto__', 'constructor', 'hasOwnProperty', 'toString', 'valueOf'];
const JSON_TEXT = '{"__proto__":1,"constructor":2,"hasOwnProperty":3,"toString":4,"valueOf":5}';
const counts = byName(z.number());

function faultOf(schema: z.ZodType, raw: unknown): string {
  const { error } = z.object({ counts: schema }).safeParse(raw, parseErrors);
  return error ? explain(error) : 'none';
}

describe('an object keyed by names', () => {
  it('keeps every key, parsed, as JSON, copied and merged', () => {
    const parsed = counts.parse(JSON.parse(JSON_TEXT));
    expect(JSON.stringify(parsed)).toBe(JSON_TEXT);
    expect(canonicalJson(parsed)).toBe(JSON_TEXT);
    for (const copy of [
      structuredClone(parsed),
      { ...parsed },
      counts.parse(parsed),
      counts.parse(JSON.parse(JSON.stringify(parsed))),
    ])
      expect(Object.entries(copy)).toEqual(NAMES.map((name, i) => [name, i + 1]));
    expect(JSON.stringify({ ...fromNames([['__proto__', 0]]), ...parsed })).toBe(JSON_TEXT);
  });

  it('changes no prototype', () => {
    const parsed = byName(z.unknown()).parse(JSON.parse('{"__proto__":{"polluted":true}}'));
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  it('is read by its own keys only', () => {
    const parsed = counts.parse(JSON.parse(JSON_TEXT));
    expect(NAMES.map((name) => valueOf(parsed, name))).toEqual([1, 2, 3, 4, 5]);
    expect(NAMES.map((name) => valueOf({}, name))).toEqual(NAMES.map(() => undefined));
  });

  it('counts names that every object inherits', () => {
    expect(JSON.stringify(countByName(['__proto__', 'constructor', '__proto__']))).toBe(
      '{"__proto__":2,"constructor":1}',
    );
  });

  it.each([
    [{}, 'counts is missing'],
    [{ counts: [] }, 'counts must be an object'],
    [{ counts: null }, 'counts must be an object'],
    [
      { counts: JSON.parse('{"__proto__":"1"}') as unknown },
      'counts.__proto__ Invalid input: expected number, received string',
    ],
  ])('refuses %j: %s', (raw, fault) => {
    expect(faultOf(counts, raw)).toBe(fault);
  });

  it('checks the keys', () => {
    const schema = byName(z.number(), z.string().max(3, 'must have at most 3 characters'));
    expect(faultOf(schema, { counts: { abc: 1 } })).toBe('none');
    expect(faultOf(schema, { counts: { abcd: 1 } })).toBe('counts.abcd must have at most 3 characters');
  });

  it('is an object in a JSON schema', () => {
    expect(z.toJSONSchema(counts, { io: 'input', unrepresentable: 'any' })).toMatchObject({ type: 'object' });
  });
});
