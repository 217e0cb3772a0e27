import type { Context } from 'hono';
import type { GatewayEnv, Services } from './context.ts';
import { lineOf } from '../bridge/console.ts';
import type { Feed, FeedEvent } from './feed.ts';
import { EventStream } from './stream.ts';

/** What is streamed, to whom, and from where. */
export interface Streamed {
  readonly feed: Feed;
  readonly agents: ReadonlySet<string>;
  /** The last number that the client has. */
  readonly after: number;
  /** Whether each event also has `words`: what it means, as a line for people. */
  readonly words?: boolean;
  /** Called once, when the stream has ended. */
  readonly release: () => void;
}

/** Answers with the server-sent events of a log. It counts as an open request of the caller's token until it ends. */
export function streamed(c: Context<GatewayEnv>, { streams, metrics }: Services, what: Streamed): Response {
  const { release, words, ...of } = what;
  const closeRequest = c.get('keepOpen')();
  const outgoing = c.env?.outgoing;
  const stream = new EventStream({
    ...of,
    frameOf: words ? withWords : undefined,
    cut: outgoing ? () => outgoing.destroy() : undefined,
    onSent: (events) => metrics.events.inc(events),
    onEnd: (reason) => {
      streams.delete(stream);
      metrics.streamEnded(reason);
      release();
      closeRequest();
    },
  });
  streams.set(stream, c.get('token'));
  metrics.streams.inc();
  return c.body(stream.body, 200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // Proxies that would hold events back until there are many.
    'x-accel-buffering': 'no',
  });
}

function withWords({ seq, envelope }: FeedEvent): Uint8Array {
  const data = JSON.stringify({ seq, envelope, words: lineOf(envelope) });
  return new TextEncoder().encode(`id: ${seq}\ndata: ${data}\n\n`);
}
