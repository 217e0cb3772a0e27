import { z } from 'zod';
import { MAX_DURATION_SECONDS, MAX_JSON_DEPTH } from './limits.ts';

/** A JSON value, as an envelope carries it in its free-form fields (`input`, `result`). */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const AGENT_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
const ROOM = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const CONTROL = /\p{Cc}/u;
const LONE_SURROGATE = /\p{Surrogate}/u;
const RFC3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:[0-5]\d)$/;

/** An agent's id, compared byte for byte. */
export const agentId = z
  .string()
  .regex(AGENT_ID, 'must be 1 to 128 of A-Z a-z 0-9 . _ : - and start with a letter or a digit');

/** A room's name. */
export const roomName = z
  .string()
  .regex(ROOM, 'must be 1 to 64 of A-Z a-z 0-9 . _ - and start with a letter or a digit');

/** Text without lone surrogates: they have no UTF-8, so two of them would have one hash. */
export const text = z.string().refine((value) => !LONE_SURROGATE.test(value), 'must not hold lone surrogates');

/** A message id or an idempotency key. */
export const key = text.min(1, 'must have 1 to 128 characters').max(128, 'must have 1 to 128 characters');

/** A name of a task, proposal, phase, role or resource; compared by code unit. */
export const name = text
  // Not max(): zod counts code points, the contract UTF-16 units.
  .refine((value) => value.length >= 1 && value.length <= 200, 'must have 1 to 200 characters')
  .refine((value) => !CONTROL.test(value), 'must not hold control characters')
  .refine((value) => value === value.normalize('NFC'), 'must be in Unicode normal form NFC');

/** Seconds in: finite, above 0 and at most 30 days unless bounded tighter; rounded up to whole milliseconds. */
export function seconds(options: { max?: number; zero?: boolean } = {}): z.ZodType<number, number> {
  const { max = MAX_DURATION_SECONDS, zero = false } = options;
  const rule = `must be a number of seconds ${zero ? '>= 0' : '> 0'} and <= ${max}`;
  return z
    .number(rule)
    .refine((value) => (zero ? value >= 0 : value > 0) && value <= max, rule)
    .transform((value) => toMilliseconds(value) / 1000);
}

/** Whole milliseconds of a duration in seconds, rounded up; what binary fractions add below a nanosecond is not a remainder. */
export function toMilliseconds(value: number): number {
  const ms = Math.ceil(Number((value * 1000).toFixed(6)));
  return ms === 0 && value > 0 ? 1 : ms;
}

/** A whole number in a range; `3.0` is 3. */
export function whole(min: number, max: number = Number.MAX_SAFE_INTEGER): z.ZodNumber {
  const bounds = [
    ...(min === Number.MIN_SAFE_INTEGER ? [] : [`from ${min}`]),
    ...(max === Number.MAX_SAFE_INTEGER ? [] : [`to ${max}`]),
  ];
  const rule =
    max === Number.MAX_SAFE_INTEGER && bounds.length > 0
      ? `must be a whole number >= ${min}`
      : ['must be a whole number', ...bounds].join(' ');
  return z.number(rule).int(rule).min(min, rule).max(max, rule);
}

/** An RFC 3339 timestamp as epoch milliseconds, rounded up; null where it is not one. */
export function parseTimestamp(value: string): number | null {
  const match = RFC3339.exec(value);
  if (!match) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const fraction = Number(`0.${match[7] ?? '0'}`);
  const zone = match[8] as string;
  const offset = /[Zz]/.test(zone)
    ? 0
    : Number(`${zone[0]}1`) * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4, 6)));
  const inRange = month >= 1 && month <= 12 && hour <= 23 && minute <= 59 && second <= 60 && Math.abs(offset) < 24 * 60;
  // setUTCFullYear, because Date.UTC reads years below 100 as 19xx.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (!inRange || date.getUTCDate() !== day || date.getUTCMonth() !== month - 1) return null;
  return (
    date.getTime() +
    ((hour * 60 + minute - offset) * 60 + second) * 1000 +
    Math.ceil(Number((fraction * 1000).toFixed(6)))
  );
}

/** A timestamp in; kept as sent, read with {@link parseTimestamp}. */
export const timestamp = z
  .string('must be an RFC 3339 timestamp')
  .refine((value) => parseTimestamp(value) !== null, 'must be an RFC 3339 timestamp with Z or an offset');

/** A timestamp out: milliseconds, `Z`. */
export function formatTimestamp(ms: number): string {
  return new Date(ms).toISOString();
}

/** Any JSON value, at most 64 levels deep. `null` is a value, not absence. */
export const json = z.custom<Json>(
  (value) => isJson(value, MAX_JSON_DEPTH),
  `must be JSON, at most ${MAX_JSON_DEPTH} levels deep`,
);

/** Whether a value is JSON of at most `depth` levels; never recurses deeper than that. */
export function isJson(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(value);
    case 'object': {
      if (value === null) return true;
      if (depth === 0) return false;
      if (Array.isArray(value)) return value.every((item) => isJson(item, depth - 1));
      const proto: unknown = Object.getPrototypeOf(value);
      // Another realm's plain object has a foreign Object.prototype, whose own prototype is null.
      if (proto !== null && Object.getPrototypeOf(proto) !== null) return false;
      return Object.values(value).every((item) => isJson(item, depth - 1));
    }
    default:
      return false;
  }
}

/** A list of `min` to `max` values, none of them twice. */
export function distinct(item: z.ZodType<string, string>, min: number, max: number): z.ZodType<string[], string[]> {
  const rule = `must hold ${min} to ${max} names`;
  return z
    .array(item)
    .min(min, rule)
    .max(max, rule)
    .refine((values) => new Set(values).size === values.length, 'must not hold a name twice');
}

/** What a worker must be able to do, or can do. */
export const capabilities = z.array(name).max(64, 'must hold at most 64 names');
/** 1 is the most urgent. */
export const priority = whole(1, 5);
/** The fencing token of a task: the number of its attempt. */
export const attempt = whole(1);
