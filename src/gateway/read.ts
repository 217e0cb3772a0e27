import { linked } from '../client/timing/timing.ts';
import { EVERYONE } from '../envelope/calls.ts';
import { formatTimestamp } from '../envelope/fields.ts';
import { OPERATOR_PREFIX, type Envelope } from '../envelope/envelope.ts';
import { Problem } from './errors.ts';
import type { Feed } from './feed.ts';
import type { Metrics } from './metrics.ts';
import type { StoredToken } from './tokens.ts';

export interface Page {
  readonly events: { readonly seq: number; readonly envelope: Envelope }[];
  readonly next: number;
  readonly truncated: boolean;
  readonly now: string;
}

/** Whose messages a token may read, beside those for the whole room. */
export function agentsOf({ agent, operator, hub }: StoredToken): ReadonlySet<string> {
  if (operator && hub) return new Set([EVERYONE]);
  return new Set(operator ? [agent, OPERATOR_PREFIX + agent] : [agent]);
}

/** The `after` of a query as a number: a `seq`, or the id of a message. @throws Problem `unknown` where no such message is kept. */
export function cursorOf(feed: Feed, after: string): number {
  if (/^-?\d+$/.test(after)) {
    const seq = Number(after);
    if (!Number.isSafeInteger(seq) || seq < -1)
      throw new Problem('invalid_envelope', 'after must be a whole number >= -1, or the id of a message');
    return seq < 0 ? feed.head : seq;
  }
  const seq = feed.seqOf(after);
  if (seq !== undefined) return seq;
  throw new Problem('unknown', `no message ${after} is kept: read the room, and go on from its next`);
}

/**
 * A page of a log; where there is nothing for the agents, waits for something, until `end` fires at the latest.
 * @throws Problem `unavailable` where it cannot be found out how the log stands to `after`.
 */
export async function read(
  feed: Feed,
  agents: ReadonlySet<string>,
  query: { after: number; limit: number; wait_seconds: number },
  end: AbortSignal,
  metrics: Metrics,
): Promise<Page> {
  const { after, limit } = query;
  if ((await feed.covers(after, end)) === 'lost') return pageOf(feed, { events: [], next: feed.head, truncated: true });
  const due = linked([end], query.wait_seconds * 1000);
  try {
    for (;;) {
      const found = feed.read(after, agents, limit);
      const nothing = found.events.length === 0 && !found.truncated;
      if (!nothing || query.wait_seconds === 0 || due.signal.aborted) return pageOf(feed, found);
      metrics.waits.inc();
      await feed.changed(due.signal);
      metrics.waits.dec();
    }
  } finally {
    due.release();
  }
}

function pageOf(feed: Feed, { events, next, truncated }: ReturnType<Feed['read']>): Page {
  return {
    events: events.map(({ seq, envelope }) => ({ seq, envelope })),
    next,
    truncated,
    now: formatTimestamp(feed.now),
  };
}
