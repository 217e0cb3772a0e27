import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Host } from '../../host/host.ts';
import { deadline, holdsFor, keepsEveryProperty, lead, noticesBroken, pass, repeat } from '../properties.fixture.ts';
import { Observed } from '../observed.fixture.ts';
import { brokenProtocols, type BarrierProtocol } from './broken.fixture.ts';
import { barrier } from './protocol.ts';
import { observer, type Property } from './observer.fixture.ts';

const MEMBERS = ['bob', 'cleo', 'dan', '7'];
const LATE = ['eve', 'fay'];

/** What happens next: a message, an earlier message again, or time passes. */
const say = fc.record({
  do: fc.constant('say' as const),
  from: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...MEMBERS) },
    { weight: 2, arbitrary: fc.constantFrom('ann', ...LATE) },
    fc.constantFrom('zed', 'operator:jo'),
  ),
  verb: fc.oneof(
    { weight: 8, arbitrary: fc.constant('checkin') },
    { weight: 3, arbitrary: fc.constant('leave') },
    { weight: 2, arbitrary: fc.constantFrom('roster', 'resolve', 'resolve') },
  ),
  action: fc.constantFrom('extend', 'extend', 'extend', 'proceed', 'fail'),
  late: fc.nat(LATE.length - 1),
  more: fc.boolean(),
});
const move = fc.oneof(
  { weight: 9, arbitrary: say },
  { weight: 2, arbitrary: repeat },
  { weight: 1, arbitrary: pass(30) },
  { weight: 3, arbitrary: deadline },
);
const schedule = fc.record({
  members: fc.integer({ min: 1, max: MEMBERS.length }),
  fallback: fc.constantFrom('proceed', 'proceed', 'escalate', 'fail'),
  quorum: fc.option(fc.integer({ min: 1, max: MEMBERS.length })),
  more: fc.boolean(),
  moves: fc.array(move, { maxLength: 30 }),
});
type Schedule = typeof schedule extends fc.Arbitrary<infer T> ? T : never;

const ABOUT = { ts: '', phase: 'b' };

function openingOf({ members, fallback, quorum, more }: Schedule): object {
  return {
    type: 'barrier.open',
    id: 'm',
    from: 'ann',
    ...ABOUT,
    roster: MEMBERS.slice(0, members),
    fallback,
    ...(quorum !== null && fallback === 'proceed' ? { quorum: Math.min(quorum, members) } : {}),
    more,
    timeout_seconds: 0.05,
  };
}

function messageOf(each: Extract<Schedule['moves'][number], { do: 'say' }>, id: string): object {
  const { from, verb, action, late, more } = each;
  if (verb === 'roster')
    return { type: 'barrier.roster', id, from: from === '7' ? 'zed' : 'ann', ...ABOUT, roster: [LATE[late]], more };
  if (verb === 'resolve') return { type: 'barrier.resolve', id, from: 'operator:jo', ...ABOUT, action };
  return { type: `barrier.${verb}`, id, from, ...ABOUT };
}

function broken(protocol: BarrierProtocol, each: Schedule): ReadonlySet<Property> {
  const host = new Host(protocol, { workflowId: 'synod:lab:barrier:b', room: 'lab', config: {}, now: 0 });
  return lead(new Observed(host, observer), openingOf(each), each.moves, messageOf, (seen) => seen.deadline);
}

const course = { sound: barrier, schedule, broken };

describe('a barrier', () => {
  keepsEveryProperty(course, { numRuns: 2_000 });

  it('is released in some schedules, and fails or is escalated in others', () => {
    const reached = new Set<string>();
    const noting: BarrierProtocol = {
      ...barrier,
      outcome: (state) => {
        const outcome = barrier.outcome(state);
        if (outcome) reached.add(outcome.type);
        if (state.escalations > 1) reached.add('escalated again');
        return outcome;
      },
    };
    holdsFor({ ...course, sound: noting }, 500, 1);
    expect([...reached].sort()).toEqual(['barrier.failed', 'barrier.released', 'escalated again']);
  });
});

describe('the properties can fail', () => {
  noticesBroken(course, brokenProtocols);
});
