import { expect, it } from 'vitest';
import { serves, type LockType } from './lock.ts';

const KINDS: readonly LockType[] = ['read', 'write', 'exclusive', 'permit'];

it.each<[LockType, LockType[]]>([
  ['read', ['read']],
  ['write', ['read', 'write']],
  ['exclusive', ['read', 'write', 'exclusive']],
  ['permit', ['permit']],
])('a %s lock serves its holder for %j', (held, wanted) => {
  expect(KINDS.filter((kind) => serves(held, kind))).toEqual(wanted);
});
