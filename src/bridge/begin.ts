import type { BridgePlace } from '../envelope/bridge.ts';
import type { ChatAdapter } from './adapter.ts';
import { untilAnswered, type DeliverOptions } from './deliver.ts';
import { keyPrefix } from './key.ts';
import type { Ledger } from './ledger.ts';
import type { LostLedger } from './options.ts';

/** What {@link begin} needs. */
export interface BeginOptions extends Pick<DeliverOptions, 'sleep' | 'onTrouble'> {
  readonly adapter: ChatAdapter;
  readonly ledger: Pick<Ledger, 'renew' | 'room' | 'chat'>;
  readonly lostLedger: LostLedger;
  /** The number of the last entry in the room's log; 0 where there is no room yet. */
  readonly head: () => Promise<number>;
  readonly note: (note: string) => void;
  readonly lost: AbortSignal;
}

/**
 * Where to go on. A ledger without a post on record is new, or it was lost and the chat shows posts of before: then what is in the
 * room's log by now may stand there already. What is done about it is written into the ledger before anything is posted.
 */
export async function begin(place: BridgePlace, options: BeginOptions): Promise<BridgePlace> {
  const { adapter, ledger, lostLedger, head, note, lost } = options;
  const { room, chat } = ledger;
  const recorded = place.post_id !== undefined || place.doubt !== undefined || place.part > 0;
  if (recorded || place.doubtful_to !== undefined || !adapter.newestPost) return place;
  const found = await untilAnswered(async () => await adapter.newestPost?.(keyPrefix(room, chat), lost), options);
  if (found === 'absent' || found === undefined) return place;
  const to = await head();
  const after = lostLedger === 'skip' ? Math.max(place.after, to) : place.after;
  await ledger.renew({ ...(after === place.after ? {} : { cursor: after }), doubtful_to: to });
  const why =
    found === 'unknown'
      ? `it cannot be found out whether ${chat} has posts of this bot`
      : `${chat} has posts of this bot, and its ledger knows of none`;
  if (to > place.after)
    note(`${why}: entries up to ${to} are ${lostLedger === 'skip' ? 'passed over' : 'marked as possible repeats'}`);
  return { ...place, after, doubtful_to: to, ...(found === 'unknown' ? {} : { post_id: found.id }) };
}
