import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CoordinatorMessage } from '../../envelope/coordinator.ts';
import { deadline, keepsEveryProperty, noticesBroken, pass, repeat } from '../properties.fixture.ts';
import type { Protocol } from '../protocol.ts';
import { brokenProtocols } from './broken.fixture.ts';
import { coordinatorElection } from './protocol.ts';
import type { ElectionState } from './state.ts';
import { PROPERTIES, type Property } from './observer.fixture.ts';
import { ObservedElection, type Raw, type Sent } from './observed.fixture.ts';

const HEARTBEAT_MS = 20;
const LAPSE_MS = 3 * HEARTBEAT_MS;

/** What happens next: a message is sent, which may arrive some moves later; an earlier one comes again; or time passes. */
type Move =
  | { do: 'say'; from: string; verb: string; epoch: number; delay: number }
  | { do: 'repeat'; nth: number }
  | { do: 'pass'; ms: number }
  | { do: 'deadline'; offset: number };

const say = fc.record({
  do: fc.constant('say' as const),
  from: fc.constantFrom('ann', 'bob', 'cleo', 'dan'),
  verb: fc.oneof(
    { weight: 4, arbitrary: fc.constant('join') },
    { weight: 2, arbitrary: fc.constant('heartbeat') },
    { weight: 2, arbitrary: fc.constant('directive') },
    fc.constantFrom('resign', 'leave'),
  ),
  // Relative to the epoch at the time it is sent: mostly that one.
  epoch: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: -2, max: 1 })),
  delay: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 8 })),
});
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 8, arbitrary: say },
  { weight: 2, arbitrary: repeat },
  { weight: 2, arbitrary: pass(45) },
  { weight: 2, arbitrary: deadline },
);
const schedule = fc.array(move, { maxLength: 50 });

/** The properties that a schedule breaks. */
function broken(protocol: Protocol<ElectionState, CoordinatorMessage>, moves: readonly Move[]): Set<Property> {
  const election = new ObservedElection(protocol, LAPSE_MS);
  const sent: Sent[] = [];
  let underway: { at: number; raw: Raw }[] = [];
  for (const [i, each] of moves.entries()) {
    if (each.do === 'pass') election.now += each.ms;
    else if (each.do === 'deadline')
      election.now = Math.max(election.now, (election.host.nextDeadline()?.at ?? 0) + each.offset);
    else if (each.do === 'repeat') {
      const known = sent[each.nth % Math.max(1, sent.length)];
      if (known) election.repeat(known);
    } else {
      const epoch = Math.max(1, election.seen.epoch + each.epoch);
      const fields = {
        ...(each.verb === 'join' ? { heartbeat_seconds: HEARTBEAT_MS / 1000 } : {}),
        ...(['heartbeat', 'resign', 'directive'].includes(each.verb) ? { epoch } : {}),
        ...(each.verb === 'directive' ? { directive: i } : {}),
      };
      const raw: Raw = { id: `m${i}`, ts: '', type: `coordinator.${each.verb}`, from: each.from, ...fields };
      underway.push({ at: i + each.delay, raw });
    }
    for (const { at, raw } of underway) if (at <= i) sent.push(election.send(raw));
    underway = underway.filter(({ at }) => at > i);
  }
  return election.broken;
}

const course = { sound: coordinatorElection, schedule, broken };

describe('the coordinator election', () => {
  keepsEveryProperty(course, { numRuns: 3_000 });
});

describe('the properties can fail', () => {
  it('each of them', () => {
    expect(new Set(brokenProtocols.map(({ breaks }) => breaks))).toEqual(new Set(PROPERTIES));
  });

  noticesBroken(course, brokenProtocols);
});
