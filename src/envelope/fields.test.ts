import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { agentId, formatTimestamp, name, parseTimestamp, roomName, seconds, toMilliseconds, whole } from './fields.ts';

const DAYS_30 = 30 * 86_400;

describe('names', () => {
  it.each([
    'a',
    ' ',
    'ä',
    '日本',
    '😀',
    'a'.repeat(200),
    '😀'.repeat(100),
    '__proto__',
    'constructor',
    '.',
    '~',
    '\u00a0',
  ])('%j is one', (value) => {
    expect(name.safeParse(value).success).toBe(true);
  });

  it.each([
    ['empty', ''],
    ['201 units', 'a'.repeat(201)],
    ['202 units of 101 characters', '😀'.repeat(101)],
    ['a C0 control', 'a\u001fb'],
    ['DEL', 'a\u007f'],
    ['a C1 control', 'a\u0085'],
    ['a line feed', 'a\n'],
    ['a lone high surrogate', 'a\ud83d'],
    ['a lone low surrogate', '\ude00a'],
    ['reversed surrogates', '\ude00\ud83d'],
    ['not NFC', 'e\u0301'],
    ['not NFC: ångström', '\u212b'],
  ])('%s is none', (_, value) => {
    expect(name.safeParse(value).success).toBe(false);
  });

  it('stay apart where they only look alike', () => {
    expect(name.parse('А')).not.toBe(name.parse('A'));
    expect(name.parse('a')).not.toBe(name.parse('A'));
    expect(name.parse(' a')).toBe(' a');
  });
});

describe('agent ids', () => {
  it.each(['a', '0', 'A.b_c:d-e', `a${'b'.repeat(127)}`, 'operator:jo'])('%s is one', (value) => {
    expect(agentId.parse(value)).toBe(value);
  });
  it.each(['', `a${'b'.repeat(128)}`, '-a', ':a', 'a/b', 'a b', 'ä', 'a\n', '*', '__proto__'])(
    '%j is none',
    (value) => {
      expect(agentId.safeParse(value).success).toBe(false);
    },
  );
});

describe('rooms', () => {
  it.each(['a', '0', 'A.b_c-d', 'a'.repeat(64)])('%s is one', (value) => {
    expect(roomName.parse(value)).toBe(value);
  });
  it.each(['', 'a'.repeat(65), '-a', '.a', 'a:b', 'ä', 'a\n'])('%j is none', (value) => {
    expect(roomName.safeParse(value).success).toBe(false);
  });
});

describe('durations', () => {
  it.each([0, -0, -1, -0.001, Number.NaN, Infinity, -Infinity, 2 ** 53, DAYS_30 + 0.001, '1', null, true])(
    '%s is none',
    (value) => {
      expect(seconds().safeParse(value).success).toBe(false);
    },
  );

  it.each([
    [123.45, 123.45],
    [DAYS_30, DAYS_30],
    [0.001, 0.001],
    [0.0001, 0.001],
    [1.0001, 1.001],
    [1e-10, 0.001],
    [Number.MIN_VALUE, 0.001],
  ])('%d is %d', (value, rounded) => {
    expect(seconds().parse(value)).toBe(rounded);
  });

  it.each([100 / 3, 0.1 + 0.2, 1e-9, 2.0001, 29.9999999, 86_400 / 7, 1 / 3])(
    'of %d s are rounded once: read again they are the same',
    (value) => {
      const parsed = seconds().parse(value);
      expect(seconds().parse(parsed)).toBe(parsed);
      expect(seconds().parse(toMilliseconds(parsed) / 1000)).toBe(parsed);
    },
  );

  it('may be 0 where that is allowed, and no less', () => {
    expect(seconds({ zero: true }).parse(0)).toBe(0);
    expect(seconds({ zero: true }).safeParse(-0.001).success).toBe(false);
  });

  it('have a smaller maximum where one is given', () => {
    expect(seconds({ max: 300 }).parse(300)).toBe(300);
    expect(seconds({ max: 300 }).safeParse(300.0001).success).toBe(false);
  });

  it.each([
    [16.1, 16_100],
    [1.005, 1_005],
    [0.07, 70],
    [4.35, 4_350],
    [1.1, 1_100],
    [1_234_567.891, 1_234_567_891],
  ])('%d s is not made longer by its binary fraction', (value, ms) => {
    expect(toMilliseconds(value)).toBe(ms);
  });

  it('of whole milliseconds stay what they are, and rounding is up and by less than one', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: DAYS_30 * 1000 }), (ms) => {
        expect(toMilliseconds(ms / 1000)).toBe(ms);
      }),
      { numRuns: 2_000 },
    );
    fc.assert(
      fc.property(fc.double({ min: Number.MIN_VALUE, max: DAYS_30, noNaN: true }), (value) => {
        const ms = toMilliseconds(value);
        expect(Number.isInteger(ms) && ms >= 1 && ms >= value * 1000 - 1e-6 && ms <= value * 1000 + 1).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('rounded once are not rounded again', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-9, max: DAYS_30, noNaN: true }), (value) => {
        const once = seconds().parse(value);
        expect(seconds().parse(once)).toBe(once);
      }),
    );
  });
});

describe('whole numbers', () => {
  it.each([1, 16, 3.0])('%d is one', (value) => {
    expect(whole(1, 16).parse(value)).toBe(value);
  });
  it.each([0, 17, 1.5, Number.NaN, Infinity, '3', true, null])('%s is none from 1 to 16', (value) => {
    expect(whole(1, 16).safeParse(value).success).toBe(false);
  });
  it('end at 2^53 - 1', () => {
    expect(whole(1).parse(2 ** 53 - 1)).toBe(2 ** 53 - 1);
    expect(whole(1).safeParse(2 ** 53).success).toBe(false);
  });
});

describe('timestamps', () => {
  it.each([
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02t03:04:05z', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05.678Z'],
    ['2026-01-02T03:04:05.6Z', '2026-01-02T03:04:05.600Z'],
    ['2026-01-02T03:04:05+02:30', '2026-01-02T00:34:05.000Z'],
    ['2026-01-01T23:30:00-01:00', '2026-01-02T00:30:00.000Z'],
    ['2026-01-02T03:04:05-00:00', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02T03:04:05.123456789Z', '2026-01-02T03:04:05.124Z'],
    ['2026-01-02T03:04:05.123000000Z', '2026-01-02T03:04:05.123Z'],
    ['2026-01-02T03:04:59.999999999Z', '2026-01-02T03:05:00.000Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59.000Z'],
  ])('%s is %s', (value, ms) => {
    expect(formatTimestamp(parseTimestamp(value) ?? Number.NaN)).toBe(ms);
  });

  it.each([
    '',
    '2026-01-02',
    '2026-01-02T03:04:05',
    '2026-01-02 03:04:05Z',
    '2026-01-02T03:04Z',
    '2026-01-02T03:04:05.Z',
    '2026-01-02T03:04:05.1234567890Z',
    '2026-01-02T03:04:05,5Z',
    '2026-01-02T24:00:00Z',
    '2026-01-02T03:60:05Z',
    '2026-01-02T03:04:61Z',
    '2026-00-02T03:04:05Z',
    '2026-13-02T03:04:05Z',
    '2026-01-00T03:04:05Z',
    '2026-01-32T03:04:05Z',
    '2026-02-29T03:04:05Z',
    '1900-02-29T03:04:05Z',
    '2026-04-31T03:04:05Z',
    '2026-01-02T03:04:05+24:00',
    '2026-01-02T03:04:05+01:60',
    '2026-01-02T03:04:05+0100',
    '2026-01-02T03:04:05+1:00',
    '+002026-01-02T03:04:05Z',
    ' 2026-01-02T03:04:05Z',
    '2026-01-02T03:04:05Z\n',
    '２026-01-02T03:04:05Z',
  ])('%j is none', (value) => {
    expect(parseTimestamp(value)).toBeNull();
  });

  it('read back to the millisecond what was written', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), (ms) => {
        expect(parseTimestamp(formatTimestamp(ms))).toBe(ms);
      }),
    );
  });
});
