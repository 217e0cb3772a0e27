import type { Context } from 'hono';
import type { GatewayEnv, Services } from './context.ts';
import type { Feed } from './feed.ts';
import { EventStream } from './stream.ts';

/** What is streamed, to whom, and from where. */
export interface Streamed {
  readonly feed: Feed;
  readonly agents: ReadonlySet<string>;
  /** The last number that the client has. */
  readonly after: number;
  /** Called once, when the stream has ended. */
  readonly release: () => void;
}

/** Answers with the server-sent events of a log. It counts as an open request of the caller's token until it ends. */
export function streamed(c: Context<GatewayEnv>, { streams, metrics }: Services, what: Streamed): Response {
  const { release, ...of } = what;
  const letGo = c.get('keepOpen')();
  const outgoing = c.env?.outgoing;
  const stream = new EventStream({
    ...of,
    cut: outgoing ? () => outgoing.destroy() : undefined,
    onSent: (events) => metrics.events.inc(events),
    onEnd: (reason) => {
      streams.delete(stream);
      metrics.streamEnded(reason);
      release();
      letGo();
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
