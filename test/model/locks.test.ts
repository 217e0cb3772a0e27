import { describe, expect, it } from 'vitest';
import { brokenProtocols } from '../../src/protocols/lock/broken.fixture.ts';
import { explore } from './explore.ts';
import { lockScope, type LockScopeOptions } from './scopes/locks.ts';

const small: LockScopeOptions = {
  agents: ['ann', 'bob', 'cleo'],
  resources: ['a', 'b'],
  kinds: ['read', 'write', 'exclusive'],
  sets: true,
  locks: 2,
  leaseTicks: 2,
  waitTicks: 2,
};
/** What cannot be seen by ticks of this clock, or in the locks that are left. */
const UNSEEN = new Set([
  'only the holder in time',
  'nothing ends early',
  'a lease is counted from now',
  'a time-out costs all that is held',
  'the size is an upper bound',
]);

describe('the locks', () => {
  it('break nothing in a small world, all of which is reached', () => {
    const result = explore(lockScope('small', small), { maxStates: 100_000 });
    expect(result).toMatchObject({ exhausted: true, violations: 0, examples: [] });
    expect(result.states).toBeGreaterThan(1_000);
    expect(result.transitions).toBeGreaterThan(3 * result.states);
  });

  it.each(brokenProtocols.filter(({ breaks }) => !UNSEEN.has(breaks)))(
    'are caught with $name',
    ({ protocol, breaks }) => {
      const world = { ...small, kinds: ['read', 'exclusive'] as const, sets: false, locks: 3, protocol };
      const result = explore(lockScope('broken', world), { maxStates: 1_500, stopAt: breaks });
      expect(result.examples.map(({ property }) => property)).toContain(breaks);
    },
  );
});
