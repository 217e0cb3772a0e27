import { expect, it } from 'vitest';
import { lineOfLocked } from './status.ts';

const since = '2026-01-01T00:00:00.000Z';
const held = (lock_id: string, holder: string) => ({ lock_id, lock_type: 'read', since, holder, token: 1 });

it('says in a line who holds a resource, how many wait, and by which ids it is released', () => {
  const report = { resource: 'report', queue: [], queue_count: 2, holders: [held('l-1', 'ann'), held('l-2', 'bob')] };
  expect(lineOfLocked({ ...report, holders_count: 2 })).toBe(
    `report\tread by ann since ${since} and 1 more\t2 waiting\t(l-1, l-2)`,
  );
  expect(lineOfLocked({ ...report, holders: [], holders_count: 0 })).toBe('report\tnobody\t2 waiting');
});
