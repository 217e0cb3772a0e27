import { type Broken, hasty } from '../broken.fixture.ts';
import type { LockMessage } from '../../envelope/lock.ts';
import type { Context, Decided, Decision, Input, Protocol } from '../protocol.ts';
import type { Property } from './observer.fixture.ts';
import { lockManager } from './protocol.ts';
import type { Lock, LockState } from './state.ts';

type LockProtocol = Protocol<LockState, LockMessage>;
type Decide = (state: LockState, input: Input<LockMessage>, context: Context) => Decision<LockState>;

function withDecide(decide: Decide): LockProtocol {
  return { ...lockManager, decide };
}

/** The message of a type, where the input is one. */
function messageOf<Type extends LockMessage['type']>(
  input: Input<LockMessage>,
  type: Type,
): Extract<LockMessage, { type: Type }> | undefined {
  const isIt = (message: LockMessage): message is Extract<LockMessage, { type: Type }> => message.type === type;
  return input.kind === 'message' && isIt(input.message) ? input.message : undefined;
}

/** Decides as if some locks were not there, which then are again. */
function blindTo(state: LockState, which: (lock: Lock) => boolean, decide: (state: LockState) => Decision<LockState>) {
  const hidden = [...state.locks.entries()].map(([, lock]) => lock).filter(which);
  const decision = decide(hidden.reduce((sum, lock) => sum.remove(lock), state));
  if ('refuse' in decision) return decision;
  return { ...decision, state: hidden.reduce((sum, lock) => sum.add(lock), decision.state) };
}

const holdersUnseen = withDecide((state, input, context) => {
  const request = messageOf(input, 'lock.request');
  if (!request) return lockManager.decide(state, input, context);
  const others = (lock: Lock) => lock.phase !== 'waiting' && lock.agent !== request.from;
  return blindTo(state, others, (rest) => lockManager.decide(rest, input, context));
});

const waitersUnseen = withDecide((state, input, context) =>
  messageOf(input, 'lock.request')
    ? blindTo(
        state,
        ({ phase }) => phase === 'waiting',
        (rest) => lockManager.decide(rest, input, context),
      )
    : lockManager.decide(state, input, context),
);

const tokensAnew = withDecide((state, input, context) => {
  const decision = lockManager.decide(state, input, context);
  if ('refuse' in decision || decision.state.locks.size > 0) return decision;
  return { ...decision, state: decision.state.with({ token: 0 }) };
});

const nobodyGranted = withDecide((state, input, context) => {
  const decision = lockManager.decide(state, input, context);
  const release = messageOf(input, 'lock.release');
  const lock = release && state.lockOf(release.lock_id);
  return 'refuse' in decision || !lock ? decision : { ...decision, state: state.remove(lock), emit: [] };
});

const cancelledLater = withDecide((state, input, context) => {
  const decision = lockManager.decide(state, input, context);
  const cancelled = messageOf(input, 'lock.cancel') && 'verdict' in decision && decision.verdict?.[0] === 'cancelled';
  return cancelled && decision.verdict[1] !== null ? { ...decision, state, emit: [] } : decision;
});

const anybodyReleases = withDecide((state, input, context) => {
  const release = messageOf(input, 'lock.release');
  const from = release && state.lockOf(release.lock_id)?.agent;
  if (!release || from === undefined) return lockManager.decide(state, input, context);
  return lockManager.decide(state, { kind: 'message', message: { ...release, from } }, context);
});

const waitsForEver: LockProtocol = {
  ...lockManager,
  nextDeadline: (state) => {
    const end = state.ends.first();
    return end ? { at: end[0].at, summary: 'a lease ends' } : null;
  },
  decide: (state, input, context) =>
    input.kind === 'deadline'
      ? blindTo(
          state,
          ({ phase }) => phase === 'waiting',
          (rest) => lockManager.decide(rest, input, context),
        )
      : lockManager.decide(state, input, context),
};

const noRollbackTime = withDecide((state, input, context) =>
  lockManager.decide(state, input, { ...context, config: { ...context.config, rollback_seconds: 0 } }),
);

const addsUp = withDecide((state, input, context) => {
  const renew = messageOf(input, 'lock.renew');
  const lock = renew && state.lockOf(renew.lock_id);
  const decision = lockManager.decide(state, input, context);
  if (!lock || 'refuse' in decision) return decision;
  const until = lock.until + lock.lease_ms;
  const [, id = '', ms = 0] = decision.verdict ?? [''];
  const added: Decided<LockState> = { ...decision, verdict: ['renewed', id, ms, until] };
  return { ...added, state: state.replace(lock, { ...lock, until }) };
});

const lossUntold = withDecide((state, input, context) => {
  const decision = lockManager.decide(state, input, context);
  if ('refuse' in decision) return decision;
  const emit = decision.emit?.map((each) => (each.type === 'lock.denied' ? { ...each, released: [] } : each));
  return { ...decision, ...(emit ? { emit } : {}) };
});

const uncounted: LockProtocol = { ...lockManager, size: () => 300 };

export const brokenProtocols: readonly Broken<LockState, LockMessage, Property>[] = [
  { name: 'holders not looked at', protocol: holdersUnseen, breaks: 'only what is compatible is held together' },
  { name: 'no time for the rollback', protocol: noRollbackTime, breaks: 'only what is compatible is held together' },
  { name: 'waiters not looked at', protocol: waitersUnseen, breaks: 'nobody is overtaken' },
  { name: 'tokens that begin anew', protocol: tokensAnew, breaks: 'the token only rises' },
  { name: 'a release after which nobody is granted', protocol: nobodyGranted, breaks: 'nobody is forgotten' },
  { name: 'a cancel that leaves the waiter', protocol: cancelledLater, breaks: 'one terminal answer' },
  { name: 'a release by anybody', protocol: anybodyReleases, breaks: 'only the holder in time' },
  { name: 'an end a millisecond early', protocol: hasty(lockManager), breaks: 'nothing ends early' },
  { name: 'waits that do not end', protocol: waitsForEver, breaks: 'every deadline progresses' },
  { name: 'renewals that add up', protocol: addsUp, breaks: 'a lease is counted from now' },
  {
    name: 'a time-out that does not name what is lost',
    protocol: lossUntold,
    breaks: 'a time-out costs all that is held',
  },
  { name: 'a size that is not counted', protocol: uncounted, breaks: 'the size is an upper bound' },
];
