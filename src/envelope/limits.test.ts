import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readRaw } from './envelope.ts';
import { isJson } from './fields.ts';
import { fitsBytes, MAX_ENVELOPE_BYTES, utf8Bytes } from './limits.ts';

/** Any code units, so that there are lone surrogates, too. */
const anyUnits = fc
  .array(
    fc.oneof(
      fc.integer({ min: 0, max: 0xffff }),
      fc.integer({ min: 0xd800, max: 0xdfff }),
      fc.integer({ min: 0, max: 0x7f }),
    ),
  )
  .map((units) => String.fromCharCode(...units));

describe('bytes', () => {
  it.each([
    ['', 0],
    ['a', 1],
    ['\u007f', 1],
    ['\u0080', 2],
    ['\u07ff', 2],
    ['\u0800', 3],
    ['\uffff', 3],
    ['😀', 4],
    ['\ud83d', 3],
    ['\ude00', 3],
    ['\ud83d\ud83d\ude00', 7],
    ['\ude00\ud83d', 6],
  ])('of %j are %d', (text, bytes) => {
    expect(utf8Bytes(text)).toBe(bytes);
  });

  it('are those of UTF-8', () => {
    fc.assert(
      fc.property(anyUnits, (text) => {
        expect(utf8Bytes(text)).toBe(Buffer.byteLength(text));
      }),
      { numRuns: 1_000 },
    );
  });

  it('fit when they are no more', () => {
    fc.assert(
      fc.property(anyUnits, fc.integer({ min: -4, max: 4 }), (text, off) => {
        const bytes = Buffer.byteLength(text);
        expect(fitsBytes(text, bytes + off)).toBe(off >= 0);
      }),
    );
  });
});

/** An envelope of so many bytes of JSON, filled up with `unit`. */
function sized(bytes: number, unit: string): { [field: string]: unknown } {
  const empty = { type: 'task.claim', id: 'm', from: 'ann', ts: '', task_id: 't' };
  const room = bytes - Buffer.byteLength(JSON.stringify(empty));
  const units = Math.floor(room / Buffer.byteLength(unit));
  const ts = unit.repeat(units) + 'x'.repeat(room - units * Buffer.byteLength(unit));
  return { ...empty, ts };
}

describe.each(['x', 'é', '日', '😀'])('an envelope of %s', (unit) => {
  it('may have 16 KiB of JSON', () => {
    const raw = sized(16_384, unit);
    expect(Buffer.byteLength(JSON.stringify(raw))).toBe(MAX_ENVELOPE_BYTES);
    expect(readRaw(raw)).toEqual(raw);
  });

  it('is refused with one byte more', () => {
    expect(readRaw(sized(16_385, unit))).toEqual({
      code: 'over_limit',
      reason: 'envelope is larger than 16384 bytes of JSON',
    });
  });
});

it('counts what JSON escapes', () => {
  expect(readRaw({ ts: '"'.repeat(8_200) })).toMatchObject({ code: 'over_limit' });
  expect(readRaw({ ts: '\u0001'.repeat(2_731) })).toMatchObject({ code: 'over_limit' });
});

function nested(levels: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 1;
  for (let i = 0; i < levels; i++) value = wrap(value);
  return value;
}

describe.each([
  ['lists', (inner: unknown): unknown => [inner]],
  ['objects', (inner: unknown): unknown => ({ a: inner })],
])('nesting of %s', (_, wrap) => {
  it('ends at 64 levels', () => {
    expect(isJson(nested(64, wrap), 64)).toBe(true);
    expect(isJson(nested(65, wrap), 64)).toBe(false);
    expect(readRaw({ input: nested(63, wrap) })).toHaveProperty('input');
    expect(readRaw({ input: nested(64, wrap) })).toMatchObject({ code: 'invalid_envelope' });
  });

  it('cannot overflow the stack', () => {
    expect(readRaw({ input: nested(1_000_000, wrap) })).toMatchObject({ code: 'invalid_envelope' });
  });
});
