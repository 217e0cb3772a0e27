import { expect, it } from 'vitest';
import { SynodError } from '../../envelope/refusal.ts';
import { checkToken } from './fence.ts';

const codeOf = (check: () => number): string => {
  try {
    return `accepted ${check()}`;
  } catch (error) {
    return error instanceof SynodError ? error.code : 'not a SynodError';
  }
};

it('accepts the first token, the same again and every newer one', () => {
  expect(checkToken(undefined, 1)).toBe(1);
  expect(checkToken(1, 1)).toBe(1);
  expect(checkToken(1, 2)).toBe(2);
  expect(checkToken(7, 9_007_199_254_740_991)).toBe(9_007_199_254_740_991);
});

it('refuses an older token', () => {
  expect(codeOf(() => checkToken(2, 1))).toBe('stale_token');
  expect(() => checkToken(2, 1)).toThrow('token 1 is older than 2');
});

it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('refuses %d, which is no token', (token) => {
  expect(codeOf(() => checkToken(undefined, token))).toBe('invalid_envelope');
  expect(codeOf(() => checkToken(1, token))).toBe('invalid_envelope');
});
