import type { Base } from '../envelope/envelope.ts';
import type { Decision, Protocol } from './protocol.ts';

/** A copy of a protocol with one rule taken out, and the property that must notice. */
export interface Broken<S, M extends Base, Property extends string> {
  readonly name: string;
  readonly protocol: Protocol<S, M>;
  readonly breaks: Property;
}

/** A decision with another state, where it is no refusal. */
export function changed<S>(decision: Decision<S>, change: (state: S) => S): Decision<S> {
  return 'refuse' in decision ? decision : { ...decision, state: change(decision.state) };
}

/** Deadlines that are ignored. */
export function ignoring<S, M extends Base>(protocol: Protocol<S, M>): Protocol<S, M> {
  return {
    ...protocol,
    decide: (state, input, context) => (input.kind === 'deadline' ? { state } : protocol.decide(state, input, context)),
  };
}

/**
 * Deadlines a millisecond early.
 * @param which the states whose deadlines are.
 */
export function hasty<S, M extends Base>(
  protocol: Protocol<S, M>,
  which: (state: S) => boolean = () => true,
): Protocol<S, M> {
  return {
    ...protocol,
    nextDeadline: (state) => {
      const deadline = protocol.nextDeadline(state);
      return deadline && which(state) ? { ...deadline, at: deadline.at - 1 } : deadline;
    },
    decide: (state, input, context) =>
      protocol.decide(state, input, input.kind === 'deadline' ? { ...context, now: context.now + 1 } : context),
  };
}
