import { z } from 'zod';
import { bridgeMessages, bridgePlace, type BridgeMessage, type BridgePlace } from '../../envelope/bridge.ts';
import { identityOf } from '../../envelope/envelope.ts';
import { formatTimestamp, toMilliseconds, type Json } from '../../envelope/fields.ts';
import { refusal, type Refusal } from '../../envelope/refusal.ts';
import type { Context, Decision, Outgoing, Protocol, Verdict } from '../protocol.ts';
import { rules } from '../protocol.ts';

const ledgerState = z.object({
  /** Set by the first poster. */
  chat: z.string().optional(),
  place: bridgePlace,
  epoch: z.number(),
  /** The poster, and when its lease ends; absent where there is none. */
  poster: z.object({ id: z.string(), key: z.string().optional(), lease_ms: z.number(), until: z.number() }).optional(),
  posted: z.number(),
  refused: z.number(),
});
export type LedgerState = z.infer<typeof ledgerState>;

type Take = Extract<BridgeMessage, { type: 'bridge.take' }>;
type OfPoster = Exclude<BridgeMessage, Take>;

/**
 * The ledger of one chat: how far the room's log has been posted there, and the one post that may or may not have arrived.
 * One bridge posts at a time, under an epoch that only rises; a message of an earlier one is refused. The lease needs no
 * timer: run out, it only lets another take over.
 */
export const chatLedger: Protocol<LedgerState, BridgeMessage> = {
  workflowType: 'chatLedger',
  kind: 'bridge',
  area: 'bridge',
  nameField: 'chat',
  messages: rules<BridgeMessage>(bridgeMessages),
  config: {},
  state: ledgerState,

  initial: () => ({ place: { after: 0, part: 0, whole: '' }, epoch: 0, posted: 0, refused: 0 }),

  decide(state, input, context) {
    if (input.kind !== 'message') return { state };
    const { message } = input;
    return message.type === 'bridge.take' ? take(state, message, context) : byPoster(state, message, context);
  },

  known,
  answer,
  since: () => [],

  nextDeadline: () => null,

  view({ chat, place, epoch, poster, posted, refused }) {
    const { after, part, heard, post_id: postId, doubt, doubtful_to: doubtfulTo } = place;
    return {
      ...(chat === undefined ? {} : { chat }),
      cursor: after,
      part,
      epoch,
      ...(poster ? { poster: poster.id, lease_expires_at: formatTimestamp(poster.until) } : {}),
      ...(doubt ? { doubt: { key: doubt.key, last: doubt.last, part: doubt.part, parts: doubt.parts } } : {}),
      ...(heard === undefined ? {} : { heard }),
      ...(postId === undefined ? {} : { post_id: postId }),
      ...(doubtfulTo === undefined ? {} : { doubtful_to: doubtfulTo }),
      posted,
      refused,
    };
  },

  details({ chat, place, poster, posted }) {
    const who = poster ? `by ${poster.id}, until ${formatTimestamp(poster.until)} unless renewed` : 'by nobody';
    const doubt = place.doubt ? ` Entry ${place.doubt.last} is on its way.` : '';
    return `${chat ?? 'The chat'} has entry ${place.after} and all before it, in ${posted} posts.${doubt} Posted ${who}.`;
  },

  row: () => undefined,
  outcome: () => undefined,
  involves: ({ poster }, agent) => poster?.id === agent,
};

function take(state: LedgerState, message: Take, { now }: Context): Decision<LedgerState> {
  const { poster } = state;
  if (poster && poster.id !== message.from && poster.until > now) {
    return {
      refuse: refusal('held', `${poster.id} posts to ${message.chat} until ${formatTimestamp(poster.until)}`),
    };
  }
  const ms = toMilliseconds(message.lease_seconds);
  const place = state.epoch === 0 ? { ...state.place, after: message.cursor } : state.place;
  const epoch = state.epoch + 1;
  return {
    state: {
      ...state,
      chat: message.chat,
      place,
      epoch,
      poster: { id: message.from, key: identityOf(message).key, lease_ms: ms, until: now + ms },
    },
    verdict: takenVerdict(epoch, ms, now + ms, place),
    quiet: true,
  };
}

function takenVerdict(epoch: number, ms: number, until: number, place: BridgePlace): Verdict {
  // In the schema's order of fields, as the next run reads it: a verdict must not depend on how its state came about.
  return ['taken', epoch, ms, until, JSON.stringify(bridgePlace.parse(place))];
}

/** What was decided about the message by which the poster of now took the ledger. */
function known({ poster, epoch, place }: LedgerState, message: BridgeMessage): Verdict | 'other' | undefined {
  const { from, key } = identityOf(message);
  if (message.type !== 'bridge.take' || poster?.id !== from || poster.key !== key) return undefined;
  if (toMilliseconds(message.lease_seconds) !== poster.lease_ms) return 'other';
  return takenVerdict(epoch, poster.lease_ms, poster.until, place);
}

function byPoster(state: LedgerState, message: OfPoster, { now }: Context): Decision<LedgerState> {
  const { poster, place } = state;
  if (message.epoch < state.epoch)
    return { refuse: refusal('stale_epoch', `epoch ${message.epoch} is over; it is epoch ${state.epoch}`) };
  if (message.epoch > state.epoch) {
    return {
      refuse: refusal('invalid_envelope', `epoch ${message.epoch} was never issued; it is epoch ${state.epoch}`),
    };
  }
  if (!poster || poster.id !== message.from) {
    return { refuse: refusal('not_holder', poster ? `${poster.id} posts there` : 'nobody posts there: take it first') };
  }
  if (message.type === 'bridge.release') {
    const { poster: _, ...rest } = state;
    return { state: rest, verdict: ['released'], quiet: true };
  }
  const moved = move(place, message);
  if ('code' in moved) return { refuse: moved };
  const until = now + poster.lease_ms;
  const settled = message.type === 'bridge.settle' ? message.outcome : undefined;
  return {
    state: {
      ...state,
      place: moved,
      poster: { ...poster, until },
      posted: state.posted + (settled === 'posted' ? 1 : 0),
      refused: state.refused + (settled === 'refused' ? 1 : 0),
    },
    verdict: ['renewed', until, moved.after],
    quiet: true,
  };
}

/** The place of the chat after a message, or why that cannot be. */
function move(place: BridgePlace, message: Exclude<OfPoster, { type: 'bridge.release' }>): BridgePlace | Refusal {
  const { doubt } = place;
  switch (message.type) {
    case 'bridge.renew': {
      const { cursor, heard = place.heard, doubtful_to: doubtfulTo = place.doubtful_to } = message;
      if (cursor !== undefined && (doubt || place.part > 0))
        return refusal('invalid_envelope', `cursor cannot move while entry ${place.after + 1} is being posted`);
      return {
        ...place,
        after: cursor ?? place.after,
        ...(heard === undefined ? {} : { heard }),
        ...(doubtfulTo === undefined ? {} : { doubtful_to: doubtfulTo }),
      };
    }
    case 'bridge.send': {
      const { key, text, after, part, last, parts, whole } = message;
      if (doubt && doubt.key !== key) return refusal('invalid_envelope', `key ${doubt.key} must be settled first`);
      // Where the rest of a text cannot be posted, since it is no longer kept or has changed, another may begin.
      const anew = part === 0 && whole !== place.whole;
      if (after !== place.after || (part !== place.part && !anew)) {
        return refusal('invalid_envelope', `after must be ${place.after}, and part ${place.part}`);
      }
      if (part >= parts) return refusal('invalid_envelope', `parts must be more than ${part}`);
      return { ...place, whole, doubt: { key, text, last, part, parts, whole } };
    }
    case 'bridge.settle': {
      if (!doubt || doubt.key !== message.key)
        return refusal('invalid_envelope', `key is not in doubt; ${doubt ? `${doubt.key} is` : 'none is'}`);
      const { doubt: _, ...others } = place;
      const { post_id: id } = message;
      const rest = id === undefined ? others : { ...others, post_id: id };
      return doubt.part + 1 < doubt.parts
        ? { ...rest, part: doubt.part + 1 }
        : { ...rest, after: doubt.last, part: 0, whole: '' };
    }
  }
}

function answer(message: BridgeMessage, verdict: Verdict): readonly Outgoing[] {
  const to = message.from;
  const [kind, first, second, third, place] = verdict;
  if (kind === 'taken') {
    const fields: { [field: string]: Json } = {
      epoch: Number(first),
      lease_seconds: Number(second) / 1000,
      lease_expires_at: formatTimestamp(Number(third)),
    };
    return [{ type: 'bridge.taken', to, ...fields, place: bridgePlace.parse(JSON.parse(String(place))) }];
  }
  if (kind === 'renewed') {
    return [{ type: 'bridge.renewed', to, lease_expires_at: formatTimestamp(Number(first)), cursor: Number(second) }];
  }
  return [{ type: 'bridge.released', to }];
}
