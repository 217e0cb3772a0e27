import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Host } from '../../host/host.ts';
import { Watched } from '../watched.fixture.ts';
import { brokenProtocols, type DecisionProtocol } from './broken.fixture.ts';
import { quorumProposal } from './protocol.ts';
import { onlooker, type Property } from './watch.fixture.ts';

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
  { weight: 2, arbitrary: fc.record({ do: fc.constant('repeat' as const), nth: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 30 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('deadline' as const), offset: fc.integer({ min: -1, max: 1 }) }),
  },
);
const schedule = fc.record({
  voters: fc.integer({ min: 1, max: VOTERS.length }),
  quorum: fc.integer({ min: 1, max: VOTERS.length }),
  options: fc.integer({ min: 2, max: OPTIONS.length }),
  moves: fc.array(move, { maxLength: 30 }),
});
type Schedule = typeof schedule extends fc.Arbitrary<infer T> ? T : never;

/** The properties that a schedule breaks. */
function broken(protocol: DecisionProtocol, { voters, quorum, options, moves }: Schedule): Set<Property> {
  const host = new Host(protocol, { workflowId: 'synod:lab:proposal:p', room: 'lab', config: {}, now: 0 });
  const run = new Watched(host, onlooker);
  const about = { ts: '', proposal_id: 'p' };
  const opening = {
    type: 'decision.propose',
    id: 'm',
    from: 'ann',
    ...about,
    question: 'so?',
    options: OPTIONS.slice(0, options),
    voters: VOTERS.slice(0, voters),
    quorum: Math.min(quorum, voters),
    deadline_seconds: 0.05,
  };
  const sent = [{ raw: opening as object, replies: run.send(opening, 0) }];
  let now = 0;
  for (const each of moves) {
    if (each.do === 'pass') now += each.ms;
    else if (each.do === 'deadline') now = Math.max(now, 50 + each.offset);
    else if (each.do === 'repeat') {
      const again = sent[each.nth % sent.length];
      if (again) run.repeat(again.raw, now, JSON.stringify(again.replies));
    } else {
      const { from, verb, choice } = each;
      const raw = { type: `decision.${verb}`, id: `m${sent.length}`, from, ...about, choice };
      sent.push({ raw, replies: run.send(raw, now) });
    }
  }
  run.tick(now);
  return run.broken;
}

describe('a decision', () => {
  it('keeps every property under any schedule of messages, repeats and time', () => {
    fc.assert(
      fc.property(schedule, (each) => {
        expect([...broken(quorumProposal, each)]).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

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
    fc.assert(
      fc.property(schedule, (each) => {
        expect([...broken(noting, each)]).toEqual([]);
      }),
      { numRuns: 500 },
    );
    expect([...reached].sort()).toEqual(['committed', 'deadline', 'unreachable', 'withdrawn']);
  });
});

describe('the properties can fail', () => {
  it.each(brokenProtocols)('$name: "$breaks" notices', ({ protocol, breaks }) => {
    const result = fc.check(
      fc.property(schedule, (each) => !broken(protocol, each).has(breaks)),
      { numRuns: 5_000 },
    );
    expect(result.failed).toBe(true);
    // The same schedule is no fault of the sound protocol.
    const [counterexample] = result.counterexample ?? [];
    expect(counterexample && [...broken(quorumProposal, counterexample)]).toEqual([]);
  });
});
