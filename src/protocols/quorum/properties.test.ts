import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Host } from '../../host/host.ts';
import { deadline, holdsFor, keepsEveryProperty, lead, noticesBroken, pass, repeat } from '../properties.fixture.ts';
import { Observed } from '../observed.fixture.ts';
import { brokenProtocols, type DecisionProtocol } from './broken.fixture.ts';
import { quorumProposal } from './protocol.ts';
import { observer, type Property } from './observer.fixture.ts';

const VOTERS = ['bob', 'cleo', 'dan', 'eve'];
const OPTIONS = ['yes', 'no', 'later'];

/** What happens next: a message, an earlier message again, or time passes. */
const say = fc.record({
  do: fc.constant('say' as const),
  from: fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...VOTERS) }, fc.constantFrom('ann', 'zed', 'operator:jo')),
  verb: fc.oneof({ weight: 12, arbitrary: fc.constant('vote') }, fc.constant('withdraw')),
  choice: fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...OPTIONS) }, fc.constantFrom('maybe', '__proto__')),
});
const move = fc.oneof(
  { weight: 8, arbitrary: say },
  { weight: 2, arbitrary: repeat },
  { weight: 1, arbitrary: pass(30) },
  { weight: 1, arbitrary: deadline },
);
const schedule = fc.record({
  voters: fc.integer({ min: 1, max: VOTERS.length }),
  quorum: fc.integer({ min: 1, max: VOTERS.length }),
  options: fc.integer({ min: 2, max: OPTIONS.length }),
  moves: fc.array(move, { maxLength: 30 }),
});
type Schedule = typeof schedule extends fc.Arbitrary<infer T> ? T : never;

const ABOUT = { ts: '', proposal_id: 'p' };

function broken(protocol: DecisionProtocol, { voters, quorum, options, moves }: Schedule): ReadonlySet<Property> {
  const host = new Host(protocol, { workflowId: 'synod:lab:proposal:p', room: 'lab', config: {}, now: 0 });
  const opening = {
    type: 'decision.propose',
    id: 'm',
    from: 'ann',
    ...ABOUT,
    question: 'so?',
    options: OPTIONS.slice(0, options),
    voters: VOTERS.slice(0, voters),
    quorum: Math.min(quorum, voters),
    deadline_seconds: 0.05,
  };
  return lead(
    new Observed(host, observer),
    opening,
    moves,
    ({ from, verb, choice }, id) => ({ type: `decision.${verb}`, id, from, ...ABOUT, choice }),
    () => 50,
  );
}

const course = { sound: quorumProposal, schedule, broken };

describe('a decision', () => {
  keepsEveryProperty(course, { numRuns: 2_000 });

  it('is reached in some schedules, and missed in others', () => {
    const reached = new Set<string>();
    const noting: DecisionProtocol = {
      ...quorumProposal,
      outcome: (state) => {
        const { ended } = state;
        if (ended) reached.add('choice' in ended ? 'committed' : ended.reason);
        return quorumProposal.outcome(state);
      },
    };
    holdsFor({ ...course, sound: noting }, 500, 1);
    expect([...reached].sort()).toEqual(['committed', 'deadline', 'unreachable', 'withdrawn']);
  });
});

describe('the properties can fail', () => {
  noticesBroken(course, brokenProtocols);
});
