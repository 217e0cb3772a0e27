import { type Broken, hasty } from '../broken.fixture.ts';
import type { TaskMessage } from '../../envelope/task.ts';
import type { Context, Decision, Input, Protocol } from '../protocol.ts';
import { taskLease } from './protocol.ts';
import type { TaskState } from './state.ts';
import type { Property } from './observer.fixture.ts';

type TaskProtocol = Protocol<TaskState, TaskMessage>;
type Decide = (state: TaskState, input: Input<TaskMessage>, context: Context) => Decision<TaskState>;

function withDecide(decide: Decide): TaskProtocol {
  return { ...taskLease, decide };
}

/** Leases that nobody ends: the holder may come whenever it likes. */
const endless: TaskProtocol = {
  ...taskLease,
  nextDeadline: (state) => (state.lease ? null : taskLease.nextDeadline(state)),
};

const attemptNotRaised = withDecide((state, input, context) => {
  const decision = taskLease.decide(state, input, context);
  if ('refuse' in decision || state.attempt === 0) return decision;
  return { ...decision, state: { ...decision.state, attempt: state.attempt } };
});

const anybodyCompletes = withDecide((state, input, context) => {
  if (input.kind !== 'message' || input.message.type !== 'task.complete')
    return taskLease.decide(state, input, context);
  const holder = state.lease?.holder ?? input.message.from;
  return taskLease.decide(state, { kind: 'message', message: { ...input.message, from: holder } }, context);
});

const claimedTwice = withDecide((state, input, context) => {
  if (input.kind !== 'message' || input.message.type !== 'task.claim') return taskLease.decide(state, input, context);
  const { lease: _, ...open } = state;
  return taskLease.decide(open, input, context);
});

const completedTwice = withDecide((state, input, context) => {
  if (input.kind !== 'message' || input.message.type !== 'task.cancel') return taskLease.decide(state, input, context);
  const { outcome: _, ...open } = state;
  return taskLease.decide(open, input, context);
});

const windowStays = withDecide((state, input, context) => {
  const decision = taskLease.decide(state, input, context);
  return input.kind === 'deadline' && state.claim ? { ...decision, state } : decision;
});

const forgetsRelease = withDecide((state, input, context) => {
  const decision = taskLease.decide(state, input, context);
  const released = input.kind === 'message' && input.message.type === 'task.release' && !('refuse' in decision);
  return released ? { ...decision, state } : decision;
});

export const brokenProtocols: readonly Broken<TaskState, TaskMessage, Property>[] = [
  { name: 'the lease check removed', protocol: endless, breaks: 'only the holder in time' },
  { name: 'the attempt not raised', protocol: attemptNotRaised, breaks: 'the token only rises' },
  { name: 'completion accepted from anybody', protocol: anybodyCompletes, breaks: 'only the holder in time' },
  { name: 'a claim granted while it is held', protocol: claimedTwice, breaks: 'one holder at a time' },
  { name: 'a second outcome', protocol: completedTwice, breaks: 'at most one outcome' },
  {
    name: 'leases that end a millisecond early',
    protocol: hasty(taskLease, ({ lease }) => lease !== undefined),
    breaks: 'no early expiry',
  },
  { name: 'a claim window that does not move', protocol: windowStays, breaks: 'every deadline progresses' },
  {
    name: 'a release that is acknowledged and forgotten',
    protocol: forgetsRelease,
    breaks: 'nothing acknowledged is lost',
  },
];
