import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeName, isSynodId, workflowIdOf } from './address.ts';
import { name } from './fields.ts';

/** Names as the contract has them, with the characters that an encoding is likely to trip over. */
const names = fc
  .oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 100 }),
    fc.string({
      unit: fc.constantFrom('%', '2', '5', '7', 'E', '~', 'a', 'A', ':', 'é', "'"),
      minLength: 1,
      maxLength: 90,
    }),
  )
  .filter((value) => name.safeParse(value).success);

describe('a name in a workflow id', () => {
  it.each([
    ['t-1', 't-1'],
    ['A.b_c-9', 'A.b_c-9'],
    ['a b', 'a%20b'],
    ['a:b', 'a%3Ab'],
    ['a/b', 'a%2Fb'],
    ['100%', '100%25'],
    ['~', '%7E'],
    ["!'()*", '%21%27%28%29%2A'],
    ['é', '%C3%A9'],
    ['😀', '%F0%9F%98%80'],
    ['{a}', '%7Ba%7D'],
  ])('%s is %s', (value, encoded) => {
    expect(encodeName(value)).toBe(encoded);
  });

  it('is whole up to 150 bytes encoded and its hash past that', () => {
    const sha = (value: string) => `~${createHash('sha256').update(value, 'utf8').digest('hex')}`;
    expect(encodeName('a'.repeat(150))).toBe('a'.repeat(150));
    expect(encodeName('a'.repeat(151))).toBe(sha('a'.repeat(151)));
    expect(encodeName('é'.repeat(25))).toBe('%C3%A9'.repeat(25));
    expect(encodeName(`${'é'.repeat(25)}a`)).toBe(sha(`${'é'.repeat(25)}a`));
  });

  it('holds nothing but letters, digits and ._-%~', () => {
    fc.assert(
      fc.property(names, (value) => {
        expect(encodeName(value)).toMatch(/^(~[0-9a-f]{64}|[A-Za-z0-9._%-]{1,150})$/);
      }),
    );
  });

  it('is no other name: no two have one id', () => {
    fc.assert(
      fc.property(names, names, (a, b) => {
        expect(encodeName(a) === encodeName(b)).toBe(a === b);
      }),
      { numRuns: 2_000 },
    );
    fc.assert(
      fc.property(names, (a) => {
        expect(encodeName(encodeName(a)) === encodeName(a)).toBe(encodeName(a) === a);
      }),
    );
  });

  it('can be read back where it is not hashed', () => {
    fc.assert(
      fc.property(names, (value) => {
        const encoded = encodeName(value);
        expect(encoded.startsWith('~') ? value : decodeURIComponent(encoded)).toBe(value);
      }),
    );
  });
});

describe('a workflow id', () => {
  it('names the room, the primitive and the instance', () => {
    expect(workflowIdOf('lab', 'task', 't 1')).toBe('synod:lab:task:t%201');
    expect(workflowIdOf('lab', 'room')).toBe('synod:lab:room');
    expect(workflowIdOf('lab', 'locks')).toBe('synod:lab:locks');
  });

  it('stays within 255 characters', () => {
    expect(workflowIdOf('r'.repeat(64), 'coordinator', 'é'.repeat(200)).length).toBeLessThanOrEqual(255);
    expect(workflowIdOf('r'.repeat(64), 'coordinator', 'a'.repeat(150)).length).toBeLessThanOrEqual(255);
  });

  it('belongs to Synod by its first part', () => {
    expect(isSynodId('synod:lab:room')).toBe(true);
    expect(isSynodId('synod')).toBe(false);
    expect(isSynodId('my:synod:lab')).toBe(false);
  });
});
