import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, sha256Hex } from './canonical.ts';
import { bodyHash, bodyOf, identityOf, isRefusal, parseMessage } from './envelope.ts';
import { json } from './fields.ts';
import { taskMessages, type TaskAnnounce } from './task.ts';

function parsed(value: string) {
  return json.parse(JSON.parse(value));
}

describe('canonical JSON (RFC 8785)', () => {
  it.each([
    ['{"b":1,"a":2}', '{"a":2,"b":1}'],
    ['{"a":{"d":1,"c":[{"f":1,"e":2}]}}', '{"a":{"c":[{"e":2,"f":1}],"d":1}}'],
    // The order is by UTF-16 code unit, not by code point: the emoji's surrogates come before U+FB33.
    [
      '{"\\ufb33":1,"\\ud83d\\ude00":2,"\\u20ac":3,"\\r":4,"1":5,"\\u0080":6,"\\u00f6":7}',
      '{"\\r":4,"1":5,"\u0080":6,"ö":7,"€":3,"😀":2,"\ufb33":1}',
    ],
    ['[1.0, -0, 1e30, 4.50, 2e-3, 1e-27, 333333333.33333329]', '[1,0,1e+30,4.5,0.002,1e-27,333333333.3333333]'],
    ['"\\u000f\\n\\u0041\\"\\\\\\/"', '"\\u000f\\nA\\"\\\\/"'],
    ['{"10":1,"9":2,"a":3}', '{"10":1,"9":2,"a":3}'],
    ['[ null , true,false ,"" ]', '[null,true,false,""]'],
    ['{"__proto__":1,"a":{}}', '{"__proto__":1,"a":{}}'],
  ])('%s is %s', (value, canonical) => {
    expect(canonicalJson(parsed(value))).toBe(canonical);
  });

  it('is the same for every order of keys, and is JSON of the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const one = json.parse(value);
        const other = json.parse(reversed(value));
        expect(canonicalJson(other)).toBe(canonicalJson(one));
        expect(JSON.parse(canonicalJson(one))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('gives different values different texts', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const same = isDeepStrictEqual(JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b)));
        expect(canonicalJson(json.parse(a)) === canonicalJson(json.parse(b))).toBe(same);
      }),
    );
  });
});

function reversed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? 0 : value;
  if (Array.isArray(value)) return value.map(reversed);
  return Object.fromEntries(
    Object.entries(value)
      .map(([field, inner]) => [field, reversed(inner)])
      .reverse(),
  );
}

describe('SHA-256', () => {
  it('is that of the UTF-8', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (value) => {
        expect(sha256Hex(value)).toBe(createHash('sha256').update(value, 'utf8').digest('hex'));
      }),
    );
  });
});

const announce = { type: 'task.announce', id: 'm', from: 'ann', ts: 't', task_id: 't', title: 'x' };

function message(fields: object): TaskAnnounce {
  const parsedMessage = parseMessage({ ...announce, ...fields }, taskMessages['task.announce']);
  if (isRefusal(parsedMessage)) throw new Error(parsedMessage.reason);
  return parsedMessage;
}

describe('a body', () => {
  it.each([
    { id: 'other' },
    { ts: '2026-01-01T00:00:00Z' },
    { in_reply_to: 'q' },
    { expires_at: '2026-01-01T00:00:00Z' },
    { max_hops: 3 },
    { idempotency_key: 'k' },
    { reply_to: 'my-workflow' },
    { to: 'bob' },
    { seq: 4 },
    { unknown: true },
    { room: 'lab' },
  ])('does not hold %o', (fields) => {
    expect(bodyHash(message(fields))).toBe(bodyHash(message({})));
  });

  it.each([
    { task_id: 'u' },
    { title: 'y' },
    { input: null },
    { input: { a: 1 } },
    { claim_seconds: 61 },
    { lease_seconds: 299.999 },
    { max_attempts: 4 },
    { priority: 1 },
    { capabilities: [] },
  ])('holds %o', (fields) => {
    expect(bodyHash(message(fields))).not.toBe(bodyHash(message({})));
  });

  it('is the same with its defaults spelled out, and in any order', () => {
    expect(bodyHash(message({ priority: 3, claim_seconds: 60, lease_seconds: 300.0, max_attempts: 3 }))).toBe(
      bodyHash(message({})),
    );
    expect(bodyHash(message({ input: { a: 1, b: 2 } }))).toBe(bodyHash(message({ input: { b: 2, a: 1 } })));
  });

  it('has its type', () => {
    expect(bodyOf({ type: 'task.claim', task_id: 't', id: 'x', from: 'a', ts: 't' })).toEqual({
      type: 'task.claim',
      task_id: 't',
    });
  });
});

describe('an identity', () => {
  it('is the sender and the idempotency key, which defaults to the id', () => {
    expect(identityOf(message({}))).toEqual({ from: 'ann', key: 'm' });
    expect(identityOf(message({ idempotency_key: 'k' }))).toEqual({ from: 'ann', key: 'k' });
  });
});
