import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { configSet } from './calls.ts';
import { isRefusal, parseMessage, readRaw } from './envelope.ts';
import { roomMessages } from './room.ts';
import { taskMessages } from './task.ts';

const base = { id: 'm-1', from: 'ann', ts: 'whenever' };

/** A valid message, and for each of its fields values that must be refused. */
interface Sample {
  readonly schema: z.ZodType<object>;
  readonly valid: { readonly [field: string]: unknown };
  /** Fields that must be there. */
  readonly required: readonly string[];
  readonly wrong: { readonly [field: string]: readonly unknown[] };
}

const NOT_TEXT = [null, 1, true, [], {}];
const NOT_NAME = [...NOT_TEXT, '', 'a\u0000', 'x'.repeat(201), 'e\u0301', '\ud800'];
const NOT_KEY = [...NOT_TEXT, '', 'x'.repeat(129), '\ud800'];
const NOT_SECONDS = [null, '60', true, 0, -1, 2 ** 53, 30 * 86_400 + 0.001];
const NOT_WHOLE = [null, '1', true, 0, -1, 1.5, 2 ** 53];
const NOT_NAMES = [null, 'a', [''], [1], ['a', null], Array.from({ length: 65 }, (_, i) => `c${i}`)];

const wrongBase = {
  id: NOT_KEY,
  from: [...NOT_TEXT, '', '-a', 'a b', 'ä', 'a'.repeat(129), '__proto__'],
  ts: [null, 0, true, []],
  in_reply_to: NOT_KEY,
  idempotency_key: NOT_KEY,
  expires_at: [null, 0, '', 'tomorrow', '2026-01-01', '2026-01-01T00:00:00'],
  max_hops: [null, -1, 17, 1.5, '8', true],
  reply_to: [null, 1, '', 'synod:lab:room', 'x'.repeat(256)],
};

const task = { ...base, task_id: 't' };
const samples: { readonly [type: string]: Sample } = {
  'task.announce': {
    schema: taskMessages['task.announce'],
    valid: { ...task, title: 'Sort the letters' },
    required: ['task_id', 'title'],
    wrong: {
      task_id: NOT_NAME,
      title: [...NOT_TEXT, '', '\udc00'],
      claim_seconds: NOT_SECONDS,
      lease_seconds: NOT_SECONDS,
      max_attempts: NOT_WHOLE,
      priority: [...NOT_WHOLE, 6],
      capabilities: NOT_NAMES,
    },
  },
  'task.claim': {
    schema: taskMessages['task.claim'],
    valid: task,
    required: ['task_id'],
    wrong: { task_id: NOT_NAME, lease_seconds: NOT_SECONDS },
  },
  'task.renew': {
    schema: taskMessages['task.renew'],
    valid: { ...task, attempt: 1 },
    required: ['task_id', 'attempt'],
    wrong: { task_id: NOT_NAME, attempt: NOT_WHOLE, lease_seconds: NOT_SECONDS },
  },
  'task.complete': {
    schema: taskMessages['task.complete'],
    valid: { ...task, attempt: 1 },
    required: ['task_id', 'attempt'],
    wrong: { task_id: NOT_NAME, attempt: NOT_WHOLE },
  },
  'task.fail': {
    schema: taskMessages['task.fail'],
    valid: { ...task, attempt: 1, reason: 'no ink' },
    required: ['task_id', 'attempt', 'reason'],
    wrong: { task_id: NOT_NAME, attempt: NOT_WHOLE, reason: [...NOT_TEXT, ''], retry: [null, 'true', 1] },
  },
  'task.release': {
    schema: taskMessages['task.release'],
    valid: { ...task, attempt: 1 },
    required: ['task_id', 'attempt'],
    wrong: { task_id: NOT_NAME, attempt: NOT_WHOLE },
  },
  'task.cancel': {
    schema: taskMessages['task.cancel'],
    valid: task,
    required: ['task_id'],
    wrong: { task_id: NOT_NAME, reason: NOT_TEXT },
  },
  'room.join': {
    schema: roomMessages['room.join'],
    valid: { ...base, kind: 'worker', purpose: 'to help' },
    required: ['kind', 'purpose'],
    wrong: { kind: NOT_NAME, purpose: NOT_TEXT, capabilities: NOT_NAMES },
  },
  'room.post': {
    schema: roomMessages['room.post'],
    valid: { ...base, text: 'hello' },
    required: ['text'],
    wrong: { text: [...NOT_TEXT, '', 'x'.repeat(4_001), '😀'.repeat(4_001)] },
  },
  'config.set': {
    schema: configSet,
    valid: { ...base, config: { max_waits: 5 } },
    required: ['config'],
    wrong: { config: [null, 'a', [], 1] },
  },
};

function parse(type: string, fields: object): object {
  const sample = samples[type];
  if (!sample) throw new Error(`no sample of ${type}`);
  return parseMessage({ type, ...fields }, sample.schema);
}

it('has a sample of every message type', () => {
  expect(Object.keys(samples)).toEqual([...Object.keys(taskMessages), ...Object.keys(roomMessages), 'config.set']);
});

describe.each(Object.entries(samples))('%s', (type, { valid, required, wrong }) => {
  it('is accepted with its required fields alone', () => {
    expect(parse(type, valid)).toMatchObject({ type, ...valid });
  });

  it.each([...required, 'id', 'from', 'ts'])('is refused without %s, by that name', (field) => {
    const { [field]: _, ...rest } = valid;
    const result = parse(type, rest);
    expect(result).toMatchObject({ code: 'invalid_envelope' });
    expect(result).toHaveProperty('reason', expect.stringMatching(new RegExp(`^${field} `)));
  });

  const faults = Object.entries({ ...wrongBase, ...wrong }).flatMap(([field, values]) =>
    values.map((value) => ({ field, value, shown: JSON.stringify(value).slice(0, 40) })),
  );
  it.each(faults)('is refused with $field = $shown, by that name', ({ field, value }) => {
    const result = parse(type, { ...valid, [field]: value });
    expect(result).toMatchObject({ code: 'invalid_envelope' });
    expect(result).toHaveProperty('reason', expect.stringMatching(new RegExp(`^${field}[ .[]`)));
  });

  it('drops what it does not know, and what a sender may not say', () => {
    expect(parse(type, { ...valid, colour: 'red', to: 'bob', seq: 9 })).toEqual(parse(type, valid));
  });
});

describe('what a field is when it is not said', () => {
  it('has the defaults of the task announcement', () => {
    expect(parse('task.announce', { ...task, title: 'x' })).toMatchObject({
      claim_seconds: 60,
      lease_seconds: 300,
      max_attempts: 3,
      priority: 3,
    });
  });

  it('retries a failed attempt', () => {
    expect(parse('task.fail', { ...task, attempt: 1, reason: 'x' })).toHaveProperty('retry', true);
  });
});

describe('free-form fields', () => {
  it.each([null, false, 0, '', [], {}, { a: [null] }])('carry %j as it is', (value) => {
    expect(parse('task.complete', { ...task, attempt: 1, result: value })).toHaveProperty('result', value);
  });

  it('take 3.0 for 3', () => {
    const attempt: unknown = JSON.parse('3.0');
    expect(parse('task.renew', { ...task, attempt })).toHaveProperty('attempt', 3);
  });

  it('carry a key named __proto__ without touching a prototype', () => {
    const raw: unknown = JSON.parse('{"__proto__":{"polluted":true}}');
    const parsed = parse('task.complete', { ...task, attempt: 1, result: raw });
    expect(JSON.stringify(parsed)).toContain('"__proto__":{"polluted":true}');
    expect({}).not.toHaveProperty('polluted');
  });
});

describe('characters of a post', () => {
  it.each(['x'.repeat(4_000), '😀'.repeat(4_000)])('may be 4,000', (text) => {
    expect(parse('room.post', { ...base, text })).toHaveProperty('text', text);
  });
});

describe('a raw value', () => {
  it.each([null, 1, 'text', [], true, undefined])('%j is no envelope', (raw) => {
    expect(readRaw(raw)).toEqual({ code: 'invalid_envelope', reason: 'envelope must be a JSON object' });
  });

  it.each([Number.NaN, Infinity, undefined, new Date(0), new Map(), () => 0, 1n, Symbol('s')])(
    'holding %s is no JSON',
    (value) => {
      expect(readRaw({ a: [value] })).toMatchObject({ code: 'invalid_envelope' });
    },
  );

  it('is the same from another realm', () => {
    expect(readRaw(Object.assign(Object.create(null), { a: 1 }))).toEqual({ a: 1 });
  });

  it('tells a refusal from an envelope', () => {
    expect(isRefusal({ code: 'closed', reason: 'x' })).toBe(true);
    expect(isRefusal({ type: 'error', code: 'closed', reason: 'x' })).toBe(false);
  });
});
