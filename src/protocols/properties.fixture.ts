import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Base, Envelope } from '../envelope/envelope.ts';
import type { Broken } from './broken.fixture.ts';
import type { Protocol } from './protocol.ts';
import type { CommonProperty, Observed } from './observed.fixture.ts';

/** An earlier message comes again. */
export const repeat = fc.record({ do: fc.constant('repeat' as const), nth: fc.nat(20) });

/** It is just before, at, or just after the next deadline. */
export const deadline = fc.record({
  do: fc.constant('deadline' as const),
  offset: fc.integer({ min: -1, max: 1 }),
});

/** Time passes, `max` milliseconds at most. */
export function pass(max: number) {
  return fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 0, max }) });
}

/** A protocol, the schedules it goes through, and the properties that a schedule breaks. */
export interface Course<S, M extends Base, Schedule, Property extends string> {
  readonly sound: Protocol<S, M>;
  readonly schedule: fc.Arbitrary<Schedule>;
  readonly broken: (protocol: Protocol<S, M>, schedule: Schedule) => ReadonlySet<Property>;
}

interface Effort {
  readonly numRuns: number;
}

/** Whether no schedule of so many breaks anything; throws the first that does, shrunk. With a seed they are the same ones each time. */
export function holdsFor<S, M extends Base, Schedule, Property extends string>(
  { sound, schedule, broken }: Course<S, M, Schedule, Property>,
  numRuns: number,
  seed?: number,
): true {
  fc.assert(
    fc.property(schedule, (each) => {
      expect([...broken(sound, each)]).toEqual([]);
    }),
    { numRuns, ...(seed === undefined ? {} : { seed }) },
  );
  return true;
}

/** The test that no schedule breaks anything. */
export function keepsEveryProperty<S, M extends Base, Schedule, Property extends string>(
  course: Course<S, M, Schedule, Property>,
  { numRuns }: Effort,
): void {
  it('keeps every property under any schedule', () => {
    expect(holdsFor(course, numRuns)).toBe(true);
  });
}

/** The tests that each broken copy is noticed by the property it breaks, in a schedule that the sound protocol passes. */
export function noticesBroken<S, M extends Base, Schedule, Property extends string>(
  { sound, schedule, broken }: Course<S, M, Schedule, Property>,
  copies: readonly Broken<S, M, Property>[],
  { numRuns }: Effort = { numRuns: 5_000 },
): void {
  it.each(copies)('$name: "$breaks" notices', ({ protocol, breaks }) => {
    const result = fc.check(
      fc.property(schedule, (each) => !broken(protocol, each).has(breaks)),
      // Any counterexample will do: none is made smaller.
      { numRuns, endOnFailure: true },
    );
    expect(result.failed).toBe(true);
    const [counterexample] = result.counterexample ?? [];
    expect(counterexample && [...broken(sound, counterexample)]).toEqual([]);
  });
}

type Passing = { do: 'repeat'; nth: number } | { do: 'deadline'; offset: number } | { do: 'pass'; ms: number };

/** Leads a run through its opening and what follows; the properties that this breaks. */
export function lead<S, M extends Base, Seen, Property extends string, Say extends { readonly do: 'say' }>(
  run: Observed<S, M, Seen, Property>,
  opening: object,
  moves: readonly (Say | Passing)[],
  messageOf: (move: Say, id: string) => object,
  deadlineAt: (seen: Seen) => number | null,
): ReadonlySet<Property | CommonProperty> {
  const sent: { raw: object; replies: Envelope[] }[] = [];
  let now = 0;
  const send = (raw: object) => sent.push({ raw, replies: run.send(raw, now) });
  send(opening);
  for (const each of moves) {
    if (each.do === 'pass') now += each.ms;
    else if (each.do === 'deadline') now = Math.max(now, (deadlineAt(run.seen) ?? now) + each.offset);
    else if (each.do === 'repeat') {
      const again = sent[each.nth % sent.length];
      if (again) run.repeat(again.raw, now, JSON.stringify(again.replies));
    } else send(messageOf(each, `m${sent.length}`));
  }
  run.tick(now);
  return run.broken;
}
