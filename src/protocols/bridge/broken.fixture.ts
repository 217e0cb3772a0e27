import type { BridgeMessage } from '../../envelope/bridge.ts';
import type { Decision, Protocol } from '../protocol.ts';
import { chatLedger, type LedgerState } from './protocol.ts';

export type LedgerProtocol = Protocol<LedgerState, BridgeMessage>;

/** A ledger that decides in another state than its own, or leaves something else. */
function ledger(
  type: BridgeMessage['type'],
  change: (state: LedgerState, message: BridgeMessage) => LedgerState,
  after: (next: LedgerState) => LedgerState = (next) => next,
): LedgerProtocol {
  return {
    ...chatLedger,
    decide(state, input, context): Decision<LedgerState> {
      if (input.kind !== 'message' || input.message.type !== type) return chatLedger.decide(state, input, context);
      const decision = chatLedger.decide(change(state, input.message), input, context);
      return 'refuse' in decision ? decision : { ...decision, state: after(decision.state) };
    },
  };
}

const same = (state: LedgerState): LedgerState => state;

/** A settled part, or the whole text that it is of, as posted. */
const wholeAtOnce = (state: LedgerState): LedgerState => {
  const { doubt } = state.place;
  return doubt ? { ...state, place: { ...state.place, doubt: { ...doubt, parts: doubt.part + 1 } } } : state;
};

const free = (state: LedgerState): LedgerState => {
  const { poster: _, ...rest } = state;
  return rest;
};

const withoutDoubt = (state: LedgerState): LedgerState => {
  const { doubt: _, ...place } = state.place;
  return { ...state, place };
};

/** Ledgers with one rule broken, and the property of the model that must notice. */
export const brokenLedgers: readonly {
  readonly name: string;
  readonly protocol: LedgerProtocol;
  readonly breaks: string;
}[] = [
  {
    name: 'a place that anybody may take at any time',
    protocol: ledger('bridge.take', free),
    breaks: 'one poster at a time',
  },
  {
    name: 'a lease that is not renewed by the messages of its poster',
    protocol: ledger('bridge.send', same, (next) =>
      next.poster ? { ...next, poster: { ...next.poster, until: next.poster.until - next.poster.lease_ms } } : next,
    ),
    breaks: 'one poster at a time',
  },
  {
    name: 'a take-over that forgets what is in doubt',
    protocol: ledger('bridge.take', withoutDoubt),
    breaks: 'a repeat is marked',
  },
  {
    name: 'a text that counts as posted with its first part',
    protocol: ledger('bridge.settle', wholeAtOnce),
    breaks: 'nothing is lost',
  },
  {
    name: 'a place that moves before the post is settled',
    protocol: ledger('bridge.send', same, (next) => ({
      ...next,
      place: { ...next.place, after: next.place.doubt?.last ?? 0 },
    })),
    breaks: 'nothing is lost',
  },
];
