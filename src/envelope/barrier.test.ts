import { describe, expect, it } from 'vitest';
import { compose } from '../client/messages/compose.ts';
import { barrierMessages, rosterParts } from './barrier.ts';

const longest = Array.from({ length: 1_024 }, (_, i) => `${i}`.padEnd(128, 'm'));

describe('a roster', () => {
  it('in parts is the whole, in its order', () => {
    expect(rosterParts(longest).flat()).toEqual(longest);
    expect(rosterParts(longest).length).toBeGreaterThan(9);
  });

  it('in parts fits into envelopes of the longest phase, agent and key', () => {
    for (const roster of rosterParts(longest)) {
      const fields = {
        phase: '日'.repeat(200),
        roster,
        timeout_seconds: 1,
        fallback: 'proceed',
        quorum: 1,
        more: true,
      };
      const message = { type: 'barrier.open', idempotency_key: '日'.repeat(128), ...fields };
      expect(() => compose(barrierMessages['barrier.open'], 'a'.repeat(128), message)).not.toThrow();
    }
  });

  it('that fits is one part, and none is a part without names, for its schema to refuse', () => {
    expect(rosterParts(['a', 'b'])).toEqual([['a', 'b']]);
    expect(rosterParts([])).toEqual([[]]);
  });
});
