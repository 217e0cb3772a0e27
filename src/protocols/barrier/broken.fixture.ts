import { type Broken, changed, ignoring, hasty } from '../broken.fixture.ts';
import type { BarrierMessage } from '../../envelope/barrier.ts';
import type { Context, Decision, Input, Protocol } from '../protocol.ts';
import { barrier } from './protocol.ts';
import { rosterSize, attendanceOf, type BarrierState } from './state.ts';
import type { Property } from './observer.fixture.ts';

export type BarrierProtocol = Protocol<BarrierState, BarrierMessage>;
type Decide = (state: BarrierState, input: Input<BarrierMessage>, context: Context) => Decision<BarrierState>;

function withDecide(decide: Decide): BarrierProtocol {
  return { ...barrier, decide };
}

/** Another way to decide about messages of one type. */
function onType(type: BarrierMessage['type'], decide: Decide): BarrierProtocol {
  return withDecide((state, input, context) =>
    input.kind === 'message' && input.message.type === type && state.barrier
      ? decide(state, input, context)
      : barrier.decide(state, input, context),
  );
}

const strangersCome = onType('barrier.checkin', (state, input, context) => {
  const from = input.kind === 'message' ? input.message.from : '';
  const members = Object.hasOwn(state.members, from) ? state.members : { ...state.members, [from]: rosterSize(state) };
  return barrier.decide({ ...state, members }, input, context);
});

const anybodyAdds = onType('barrier.roster', (state, input, context) => {
  if (input.kind !== 'message' || !state.barrier) return { state };
  return changed(
    barrier.decide({ ...state, barrier: { ...state.barrier, opener: input.message.from } }, input, context),
    (next) => ({ ...next, barrier: state.barrier }),
  );
});

/** Opens when all but one are in. */
const impatient = onType('barrier.checkin', (state, input, context) => {
  const decision = barrier.decide(state, input, context);
  if ('refuse' in decision || !decision.state.complete || attendanceOf(decision.state).missing.length !== 1)
    return decision;
  const verdict = ['waiting', decision.state.moves.length, rosterSize(state), 'ended'] as const;
  return { ...changed(decision, (next) => ({ ...next, ended: 'released' })), verdict };
});

const ignoresParts = onType('barrier.checkin', (state, input, context) =>
  barrier.decide({ ...state, complete: true }, input, context),
);

const leavesAsArrived = onType('barrier.leave', (state, input, context) =>
  input.kind === 'message' && input.message.type === 'barrier.leave'
    ? barrier.decide(state, { kind: 'message', message: { ...input.message, type: 'barrier.checkin' } }, context)
    : { state },
);

const oneTooFew = withDecide((state, input, context) => {
  const { barrier: opened } = state;
  if (input.kind !== 'deadline' || opened?.quorum === undefined) return barrier.decide(state, input, context);
  const lower = { ...state, barrier: { ...opened, quorum: opened.quorum - 1 } };
  return changed(barrier.decide(lower, input, context), (next) => ({ ...next, barrier: opened }));
});

const resolvedAgain = onType('barrier.resolve', (state, input, context) => {
  const { ended: _, ...open } = state;
  return barrier.decide(open, input, context);
});

const forgetsArrivals = onType('barrier.checkin', (state, input, context) =>
  changed(barrier.decide(state, input, context), (next) => (next.ended ? next : state)),
);

const stuck = onType('barrier.leave', (state, input, context) => {
  const decision = barrier.decide(state, input, context);
  if ('refuse' in decision || !decision.state.ended) return decision;
  const { ended: _, ...open } = decision.state;
  return { ...decision, state: open, verdict: ['left', open.moves.length, rosterSize(state), null] };
});

const failsAlone = withDecide((state, input, context) => {
  const decision = barrier.decide(state, input, context);
  return input.kind === 'message' && input.message.type === 'barrier.leave' && !('refuse' in decision)
    ? {
        ...changed(decision, (next) => ({ ...next, ended: next.ended ?? 'failed' })),
        verdict: ['left', decision.state.moves.length, rosterSize(state), 'ended'],
      }
    : decision;
});

export const brokenProtocols: readonly Broken<BarrierState, BarrierMessage, Property>[] = [
  { name: 'strangers that count', protocol: strangersCome, breaks: 'only its roster counts' },
  { name: 'a roster that anybody adds to', protocol: anybodyAdds, breaks: 'only its roster counts' },
  { name: 'an opening for all but one', protocol: impatient, breaks: 'it never opens early' },
  { name: 'a quorum of one too few', protocol: oneTooFew, breaks: 'it never opens early' },
  {
    name: 'an opening before the last part',
    protocol: ignoresParts,
    breaks: 'it never opens before its roster is complete',
  },
  {
    name: 'members that leave counted as in',
    protocol: leavesAsArrived,
    breaks: 'who is in and who is missing is named',
  },
  { name: 'a time-out a millisecond early', protocol: hasty(barrier), breaks: 'no early time-out' },
  { name: 'a time-out that is ignored', protocol: ignoring(barrier), breaks: 'every deadline progresses' },
  { name: 'a second end', protocol: resolvedAgain, breaks: 'at most one outcome' },
  {
    name: 'a check-in that is acknowledged and forgotten',
    protocol: forgetsArrivals,
    breaks: 'who is in and who is missing is named',
  },
  { name: 'a last one missing that leaves for nothing', protocol: stuck, breaks: 'it opens as soon as all are in' },
  { name: 'a failure at the first who leaves', protocol: failsAlone, breaks: 'it never fails early' },
];
