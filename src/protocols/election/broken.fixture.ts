import { type Broken, hasty } from '../broken.fixture.ts';
import type { CoordinatorMessage } from '../../envelope/coordinator.ts';
import type { Context, Decided, Decision, Input, Protocol } from '../protocol.ts';
import { coordinatorElection } from './protocol.ts';
import { withActive, type ElectionState } from './state.ts';
import type { Property } from './observer.fixture.ts';

type ElectionProtocol = Protocol<ElectionState, CoordinatorMessage>;
type Decide = (state: ElectionState, input: Input<CoordinatorMessage>, context: Context) => Decision<ElectionState>;

function withDecide(decide: Decide): ElectionProtocol {
  return { ...coordinatorElection, decide };
}

/** What the sound protocol decides, changed where it decides anything. */
function withChange(
  change: (
    decided: Decided<ElectionState>,
    state: ElectionState,
    input: Input<CoordinatorMessage>,
  ) => Decided<ElectionState>,
): ElectionProtocol {
  return withDecide((state, input, context) => {
    const decision = coordinatorElection.decide(state, input, context);
    return 'refuse' in decision ? decision : change(decision, state, input);
  });
}

/** The elections of a decision, under another number. */
function renumbered(decided: Decided<ElectionState>, epoch: number): Decided<ElectionState> {
  const emit = decided.emit?.map((each) => (each.type === 'coordinator.elected' ? { ...each, epoch } : each));
  return { ...decided, state: { ...decided.state, epoch }, emit: emit ?? [] };
}

const endless: ElectionProtocol = { ...coordinatorElection, nextDeadline: () => null };

const epochNotRaised = withChange((decided, { epoch }) => (epoch === 0 ? decided : renumbered(decided, epoch)));

/** A new start, as if the last epoch had been kept by the coordinator that has gone. */
const epochForgotten = withChange((decided, { leader, epoch }) =>
  leader || decided.state.epoch === epoch ? decided : renumbered(decided, 1),
);

const anyEpoch = withDecide((state, input, context) => {
  if (input.kind !== 'message' || input.message.type !== 'coordinator.directive')
    return coordinatorElection.decide(state, input, context);
  const message = { ...input.message, epoch: Math.max(1, state.epoch) };
  return coordinatorElection.decide(state, { kind: 'message', message }, context);
});

const anybodyDirects = withDecide((state, input, context) => {
  if (input.kind !== 'message' || input.message.type !== 'coordinator.directive')
    return coordinatorElection.decide(state, input, context);
  const message = { ...input.message, from: state.leader?.coordinator ?? input.message.from };
  return coordinatorElection.decide(state, { kind: 'message', message }, context);
});

const lapsedWin = withDecide((state, input, context) =>
  coordinatorElection.decide(
    { ...state, candidates: state.candidates.map(([candidate]) => [candidate, context.now]) },
    input,
    context,
  ),
);

const highestWins = withDecide((state, input, context) => {
  const highest = state.candidates.at(-1);
  const candidates = input.kind === 'deadline' && highest ? [highest] : state.candidates;
  return coordinatorElection.decide({ ...state, candidates }, input, context);
});

const lowerDeposes = withDecide((state, input, context) => {
  const decision = coordinatorElection.decide(state, input, context);
  const { leader } = state;
  if ('refuse' in decision || !leader || input.kind !== 'message' || input.message.type !== 'coordinator.join')
    return decision;
  const { from, role } = input.message;
  if (from >= leader.coordinator) return decision;
  const epoch = state.epoch + 1;
  return {
    ...decision,
    state: { ...decision.state, epoch, leader: { coordinator: from, heard_at: context.now } },
    emit: [{ type: 'coordinator.elected', role, coordinator: from, epoch }],
  };
});

/** Who joins while nobody leads is only a candidate, and is never elected. */
const onlyStands = withDecide((state, input, context) => {
  if (state.leader || !state.term || input.kind !== 'message' || input.message.type !== 'coordinator.join')
    return coordinatorElection.decide(state, input, context);
  const { from } = input.message;
  return {
    state: { ...state, candidates: withActive(state.candidates, from, context.now) },
    verdict: ['joined', state.epoch, from],
  };
});

const noSuccessor = withChange((decided, { leader, epoch }) => {
  if (!leader || decided.state.epoch === epoch) return decided;
  const { leader: _leader, ...vacant } = decided.state;
  const emit = (decided.emit ?? []).filter(({ type }) => type !== 'coordinator.elected');
  return {
    ...decided,
    state: { ...vacant, epoch, gone: { type: 'coordinator.lost', coordinator: leader.coordinator } },
    emit,
  };
});

const stuck = withChange((decided, state, input) => (input.kind === 'deadline' ? { ...decided, state } : decided));

/** Repeats are answered with the present state, in the place of the first answer. */
const answersNow: ElectionProtocol = {
  ...coordinatorElection,
  answer: (message, [kind, , ...parts], state) =>
    coordinatorElection.answer(message, [kind, state.epoch, ...parts], state),
};

export const brokenProtocols: readonly Broken<ElectionState, CoordinatorMessage, Property>[] = [
  {
    name: 'a coordinator that nobody misses',
    protocol: endless,
    breaks: 'only the coordinator acts, in its epoch and time',
  },
  { name: 'directives of any epoch', protocol: anyEpoch, breaks: 'only the coordinator acts, in its epoch and time' },
  {
    name: 'directives of anybody',
    protocol: anybodyDirects,
    breaks: 'only the coordinator acts, in its epoch and time',
  },
  { name: 'the epoch not raised', protocol: epochNotRaised, breaks: 'one coordinator an epoch' },
  { name: 'the epoch forgotten with its coordinator', protocol: epochForgotten, breaks: 'epochs strictly rise' },
  { name: 'candidates that have lapsed', protocol: lapsedWin, breaks: 'only the active win' },
  { name: 'the highest id', protocol: highestWins, breaks: 'the lowest active id wins' },
  { name: 'a lower id that deposes', protocol: lowerDeposes, breaks: 'an active coordinator is never deposed' },
  {
    name: 'a coordinator lost a millisecond early',
    protocol: hasty(coordinatorElection),
    breaks: 'an active coordinator is never deposed',
  },
  {
    name: 'a vacant role that nobody can take',
    protocol: onlyStands,
    breaks: 'somebody leads while anybody is active',
  },
  { name: 'no election after a loss', protocol: noSuccessor, breaks: 'somebody leads while anybody is active' },
  { name: 'a loss that changes nothing', protocol: stuck, breaks: 'every deadline progresses' },
  {
    name: 'first replies that change',
    protocol: answersNow,
    breaks: 'a repeat gets its first reply and changes nothing',
  },
];
