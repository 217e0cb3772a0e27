import { describe, expect, it } from 'vitest';
import { barrierMessages } from './barrier.ts';
import { coordinatorMessages } from './coordinator.ts';
import { decisionMessages } from './decision.ts';
import { isRefusal, parseMessage, readRaw } from './envelope.ts';
import { lockMessages } from './lock.ts';
import { roomMessages } from './room.ts';
import { taskMessages } from './task.ts';
import { base, samples, task, wrongBase } from './messages.fixture.ts';

function parse(type: string, fields: object): object {
  const sample = samples[type];
  if (!sample) throw new Error(`no sample of ${type}`);
  return parseMessage({ type, ...fields }, sample.schema);
}

it('has a sample of every message type', () => {
  const all = [taskMessages, roomMessages, coordinatorMessages, decisionMessages, barrierMessages, lockMessages];
  expect(Object.keys(samples)).toEqual([...all.flatMap((messages) => Object.keys(messages)), 'config.set']);
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

  it('drops what it does not know, and what a sender may not set', () => {
    expect(parse(type, { ...valid, colour: 'red', to: 'bob', seq: 9 })).toEqual(parse(type, valid));
  });
});

describe('what a field is when it is absent', () => {
  it('has the defaults of the task announcement', () => {
    expect(parse('task.announce', { ...task, title: 'x' })).toMatchObject({
      claim_seconds: 60,
      lease_seconds: 300,
      max_attempts: 3,
      priority: 3,
    });
  });

  it('has the defaults of the other areas', () => {
    const of = (type: string) => parse(type, samples[type]?.valid ?? {});
    expect(of('coordinator.join')).toMatchObject({ role: 'main', heartbeat_seconds: 10 });
    expect(of('coordinator.leave')).toMatchObject({ role: 'main' });
    expect(of('decision.propose')).toMatchObject({ options: ['yes', 'no'] });
    expect(of('barrier.open')).toMatchObject({ more: false });
    expect(of('lock.request')).toMatchObject({ lease_seconds: 60, wait_seconds: 10, priority: 3 });
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

describe('fields that depend on each other', () => {
  const open = { ...base, phase: 'p', roster: ['ann'], timeout_seconds: 1, fallback: 'proceed' };

  it('let the quorum of a barrier be more than the first part of its roster', () => {
    expect(parse('barrier.open', { ...open, quorum: 2, more: true })).toHaveProperty('quorum', 2);
    expect(parse('barrier.open', { ...open, quorum: 1, fallback: 'escalate' })).toHaveProperty(
      'reason',
      'quorum goes with the fallback "proceed" only',
    );
  });

  it('extend a barrier by a time', () => {
    const resolve = { ...base, phase: 'p', action: 'extend', extend_seconds: 60 };
    expect(parse('barrier.resolve', resolve)).toHaveProperty('extend_seconds', 60);
  });

  it('name what is cancelled in one of two ways', () => {
    expect(parse('lock.cancel', { ...base, request: 'r' })).toHaveProperty('request', 'r');
    for (const fields of [{}, { lock_id: 'l', request: 'r' }])
      expect(parse('lock.cancel', { ...base, ...fields })).toHaveProperty(
        'reason',
        'lock_id or request must be given, and not both',
      );
  });

  it('put resources in the order of their code units, each once', () => {
    const resources = ['b', 'a', '\u{1f600}', '\uffee', 'b', 'B'];
    expect(parse('lock.request', { ...base, resources, lock_type: 'read' })).toHaveProperty('resources', [
      'B',
      'a',
      'b',
      '\u{1f600}',
      '\uffee',
    ]);
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

  it.each([
    ['wait_seconds', Number.NaN, 'a finite number'],
    ['lease_seconds', Infinity, 'a finite number'],
    ['input', undefined, 'JSON, at most 64 levels deep'],
    ['input', { at: [new Date(0)] }, 'JSON, at most 64 levels deep'],
    ['result', 1n, 'JSON, at most 64 levels deep'],
  ])('names the field that is no JSON: %s %s', (field, value, needed) => {
    const reason = `${field} must be ${needed}`;
    expect(readRaw({ type: 'task.claim', [field]: value })).toEqual({ code: 'invalid_envelope', reason });
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

  it('distinguishes a refusal from an envelope', () => {
    expect(isRefusal({ code: 'closed', reason: 'x' })).toBe(true);
    expect(isRefusal({ type: 'error', code: 'closed', reason: 'x' })).toBe(false);
  });
});
