import { FakeServer, type Answer, type Call } from './server.ts';

interface Event {
  readonly type: string;
  readonly event_id: string;
  readonly sender: string;
  readonly origin_server_ts: number;
  readonly content: Record<string, unknown>;
}

/** An event's JSON may have so many bytes: https://spec.matrix.org/v1.9/client-server-api/#size-limits */
const MAX_EVENT_BYTES = 65_536;

/**
 * A homeserver with one room, as far as a bridge needs it; one event is one position of the stream.
 * https://spec.matrix.org/v1.9/client-server-api/
 */
export class FakeMatrix extends FakeServer {
  readonly room = '!lab:example.org';
  readonly me = '@synod:example.org';
  token = 'a-token';
  /** The longest timeline that `/sync` gives, whatever it is asked for. */
  maxTimeline = 100;
  readonly #events: Event[] = [];
  readonly #transactions = new Map<string, string>();

  protected isPost({ method, url }: Call): boolean {
    return method === 'PUT' && url.pathname.includes('/send/');
  }

  // https://spec.matrix.org/v1.9/client-server-api/#rate-limiting
  protected tooMany(retryAfterMs: number | undefined): Answer {
    const hint = retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs };
    return { status: 429, body: { errcode: 'M_LIMIT_EXCEEDED', error: 'Too Many Requests', ...hint } };
  }

  says(author: string, text: string, thread?: string): string {
    return this.#append(author, { msgtype: 'm.text', body: text, ...relation(thread) });
  }

  botSays(text: string): string {
    return this.#append('@other-bot:example.org', { msgtype: 'm.notice', body: text });
  }

  /** Puts something into the room that is no message of a person, e.g. an edit. */
  event(sender: string, content: Record<string, unknown>, type = 'm.room.message'): string {
    return this.#append(sender, content, type);
  }

  protected handle({ method, url, headers, body }: Call): Answer {
    if (headers.authorization === undefined) return refuse(401, 'M_MISSING_TOKEN');
    if (this.revoked || headers.authorization !== `Bearer ${this.token}`) return refuse(401, 'M_UNKNOWN_TOKEN');
    const path = url.pathname.replace('/_matrix/client/v3/', '').split('/').map(decodeURIComponent);
    const [first, room, what] = path;
    if (method === 'GET' && first === 'account') return { status: 200, body: { user_id: this.me } };
    if (method === 'GET' && first === 'sync') return this.#sync(url.searchParams);
    if (first !== 'rooms') return refuse(404, 'M_UNRECOGNIZED');
    if (room !== this.room) return refuse(403, 'M_FORBIDDEN');
    if (method === 'GET' && what === 'messages') return this.#messages(url.searchParams);
    if (method === 'PUT' && what === 'send') return this.#send(path[4] ?? '', body);
    return refuse(404, 'M_UNRECOGNIZED');
  }

  // https://spec.matrix.org/v1.9/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid
  #send(transaction: string, body: string): Answer {
    const known = this.remembers ? this.#transactions.get(transaction) : undefined;
    if (known !== undefined) return { status: 200, body: { event_id: known } };
    const content: unknown = JSON.parse(body);
    if (typeof content !== 'object' || content === null) return refuse(400, 'M_BAD_JSON');
    // Hashes, signatures and references take their part.
    if (Buffer.byteLength(body) + 2_000 > MAX_EVENT_BYTES) return refuse(413, 'M_TOO_LARGE');
    const id = this.#append(this.me, { ...content });
    this.#transactions.set(transaction, id);
    return { status: 200, body: { event_id: id } };
  }

  // https://spec.matrix.org/v1.9/client-server-api/#get_matrixclientv3roomsroomidmessages
  #messages(query: URLSearchParams): Answer {
    if (query.get('dir') !== 'b') return refuse(400, 'M_INVALID_PARAM');
    const from = position(query.get('from')) ?? this.#events.length;
    const to = position(query.get('to')) ?? 0;
    const limit = Number(query.get('limit') ?? 10);
    const filter = JSON.parse(query.get('filter') ?? '{}') as { types?: string[]; senders?: string[] };
    const start = Math.max(to, from - limit);
    const chunk = this.#events.slice(start, from).filter((event) => passes(event, filter));
    return {
      status: 200,
      body: { chunk: chunk.toReversed(), start: `s${from}`, ...(start > to && { end: `s${start}` }) },
    };
  }

  // https://spec.matrix.org/v1.9/client-server-api/#get_matrixclientv3sync
  #sync(query: URLSearchParams): Answer {
    const since = position(query.get('since')) ?? 0;
    const { room } = JSON.parse(query.get('filter') ?? '{}') as {
      room: { timeline: { limit: number; types: string[] } };
    };
    const head = this.#events.length;
    const start = Math.max(since, head - Math.min(room.timeline.limit, this.maxTimeline));
    const events = this.#events.slice(start).filter((event) => passes(event, room.timeline));
    const timeline = { events, limited: start > since, prev_batch: `s${start}` };
    return {
      status: 200,
      body: { next_batch: `s${head}`, ...(head > since && { rooms: { join: { [this.room]: { timeline } } } }) },
    };
  }

  #append(sender: string, content: Record<string, unknown>, type = 'm.room.message'): string {
    const id = `$event-${this.#events.length + 1}`;
    this.#events.push({ type, event_id: id, sender, origin_server_ts: Date.now(), content });
    const { body, 'm.mentions': mentions, 'm.relates_to': relates } = content;
    const text = typeof body === 'string' ? body : '';
    const thread =
      typeof relates === 'object' && relates !== null && 'event_id' in relates ? String(relates.event_id) : undefined;
    this.posts.push({
      id,
      author: sender,
      text,
      pings: pingsOf(text, mentions),
      ...(thread === undefined ? {} : { thread }),
    });
    return id;
  }
}

/** With `m.mentions` it alone counts: https://spec.matrix.org/v1.9/client-server-api/#user-and-room-mentions */
function pingsOf(text: string, mentions: unknown): number {
  if (mentions === undefined) return /@room\b/.test(text) ? 1 : 0;
  return JSON.stringify(mentions) === '{}' ? 0 : 1;
}

function passes(event: Event, filter: { types?: string[]; senders?: string[] }): boolean {
  return (filter.types?.includes(event.type) ?? true) && (filter.senders?.includes(event.sender) ?? true);
}

function relation(thread: string | undefined): object {
  return thread === undefined ? {} : { 'm.relates_to': { rel_type: 'm.thread', event_id: thread } };
}

function position(token: string | null): number | undefined {
  return token === null ? undefined : Number(token.slice(1));
}

function refuse(status: number, errcode: string): Answer {
  return { status, body: { errcode, error: `refused: ${errcode}` } };
}
