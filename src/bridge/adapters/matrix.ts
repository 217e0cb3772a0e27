import { z } from 'zod';
import {
  ChatError,
  type ChatAdapter,
  type ChatMessage,
  type ChatPage,
  type Found,
  type PostOptions,
} from '../adapter.ts';
import { callChat, retryAfterMs, type ChatAnswer } from '../http.ts';
import { readAnswer } from './answer.ts';

/** Options of {@link matrixAdapter}. */
export interface MatrixOptions {
  /** The homeserver, e.g. `https://matrix.example.org`. */
  readonly url: string;
  /** The room's id, `!…`; an alias may come to mean another room. */
  readonly room: string;
  /** The bot's access token; the bot has joined the room. Keep it: transaction ids are remembered for a token. */
  readonly token: string;
  /** How long a call may take, in milliseconds; default 15,000. */
  readonly timeoutMs?: number;
}

/** Where a post carries its key beside the transaction id, so that it is found again by another token too. */
const KEY_FIELD = 'synod.key';
/**
 * An event may have 65,536 bytes of canonical JSON, envelope and signatures included
 * (https://spec.matrix.org/v1.9/client-server-api/#size-limits). JSON doubles a quote or a line end.
 */
const MAX_BYTES = 30_000;
/** How long the server may hold a `/sync` that has nothing new, in milliseconds. */
const SYNC_WAIT_MS = 5_000;
/** Between two of these, in milliseconds, where it had nothing new, for a server that does not hold it. */
const QUIET_MS = 1_000;
const PAGE = 100;
/** What errors call it. */
const SERVICE = 'the homeserver';
/** Pages of history that are read for one post, or for what was written while nobody read. */
const MAX_PAGES = 10;

const sent = z.object({ event_id: z.string() });
const whoami = z.object({ user_id: z.string() });
const event = z.object({
  type: z.string(),
  event_id: z.string(),
  sender: z.string(),
  content: z.looseObject({}),
});
type Event = z.infer<typeof event>;
const history = z.object({ chunk: z.array(event), end: z.string().optional() });
const synced = z.object({
  next_batch: z.string(),
  rooms: z
    .object({
      join: z
        .record(
          z.string(),
          z.object({
            timeline: z.object({
              events: z.array(event),
              limited: z.boolean().default(false),
              prev_batch: z.string().optional(),
            }),
          }),
        )
        .default({}),
    })
    .default({ join: {} }),
});
const fault = z.object({ errcode: z.string(), error: z.string().default(''), retry_after_ms: z.number().optional() });
const message = z.object({
  msgtype: z.literal('m.text'),
  body: z.string(),
  'm.relates_to': z.looseObject({ rel_type: z.string().optional(), event_id: z.string().optional() }).optional(),
});

/** The client-server API of one room. */
class MatrixApi {
  readonly room: string;
  readonly inRoom: string;
  readonly #base: URL;
  readonly #options: MatrixOptions;
  #me: string | undefined;

  constructor(options: MatrixOptions) {
    const base = new URL(options.url);
    this.#base = base.href.endsWith('/') ? base : new URL(`${base.href}/`);
    this.#options = options;
    this.room = options.room;
    this.inRoom = `rooms/${encodeURIComponent(options.room)}`;
  }

  async call(
    method: 'GET' | 'PUT',
    path: string,
    extra: { query?: Record<string, string>; body?: unknown; signal?: AbortSignal | undefined; waitMs?: number },
  ): Promise<unknown> {
    const { token, timeoutMs } = this.#options;
    const url = new URL(`_matrix/client/v3/${path}`, this.#base);
    for (const [name, value] of Object.entries(extra.query ?? {})) url.searchParams.set(name, value);
    const answer = await callChat({
      method,
      url,
      headers: { authorization: `Bearer ${token}` },
      body: extra.body,
      timeoutMs: timeoutMs === undefined ? undefined : timeoutMs + (extra.waitMs ?? 0),
      signal: extra.signal,
    });
    if (answer.status !== 200) throw faultOf(answer);
    return answer.body;
  }

  async identity(signal?: AbortSignal): Promise<string> {
    this.#me ??= readAnswer(whoami, await this.call('GET', 'account/whoami', { signal }), SERVICE).user_id;
    return this.#me;
  }

  async messages(query: Record<string, string>, signal?: AbortSignal): Promise<z.infer<typeof history>> {
    const asked = { limit: String(PAGE), ...query };
    return readAnswer(history, await this.call('GET', `${this.inRoom}/messages`, { query: asked, signal }), SERVICE);
  }

  /** Pages of the bot's own messages, the newest first, up to {@link MAX_PAGES}; `more` where there are older ones. */
  async *own(signal?: AbortSignal): AsyncGenerator<{ chunk: readonly Event[]; more: boolean }> {
    const filter = JSON.stringify({ ...TEXTS, senders: [await this.identity(signal)] });
    for (let from: string | undefined, page = 0; page < MAX_PAGES; page++) {
      const { chunk, end } = await this.messages({ dir: 'b', filter, ...(from === undefined ? {} : { from }) }, signal);
      yield { chunk, more: end !== undefined };
      if (end === undefined) return;
      from = end;
    }
  }

  /** What was written between two tokens, the oldest first, where `/sync` has left some out. */
  async between(from: string, to: string, signal?: AbortSignal): Promise<Event[]> {
    const found: Event[] = [];
    for (let at: string | undefined = from, page = 0; at !== undefined && page < MAX_PAGES; page++) {
      const { chunk, end } = await this.messages({ dir: 'b', from: at, to, filter: JSON.stringify(TEXTS) }, signal);
      found.unshift(...chunk.toReversed());
      at = end;
    }
    return found;
  }
}

/**
 * A room of a Matrix homeserver, by the client-server API v3 (https://spec.matrix.org/v1.9/client-server-api/). It posts
 * `m.notice`, which bots do not answer, and mentions nobody (`m.mentions` is empty). Plain text has no markup there.
 * @throws Error where `room` is no id.
 */
export function matrixAdapter(options: MatrixOptions): ChatAdapter {
  if (!/^!.+/.test(options.room)) throw new Error(`room must be the id of a Matrix room (!…): ${options.room}`);
  const api = new MatrixApi(options);
  return {
    name: 'matrix',
    target: options.room,
    limits: { characters: MAX_BYTES, bytes: MAX_BYTES },
    pace: { busy: 0, quiet: QUIET_MS },
    escape: (text) => text,
    identity: async (signal) => await api.identity(signal),
    post: async (key, text, where) => await post(api, key, text, where),
    readBack: async (key, _, signal) => await readBack(api, key, signal),
    newestPost: async (keyPrefix, signal) => await newestPost(api, keyPrefix, signal),
    readForward: async (cursor, signal) => await readForward(api, cursor, signal),
  };
}

async function post(
  api: MatrixApi,
  key: string,
  text: string,
  { thread, signal }: PostOptions = {},
): Promise<{ id: string }> {
  const body = {
    msgtype: 'm.notice',
    body: text,
    [KEY_FIELD]: key,
    'm.mentions': {},
    ...(thread === undefined ? {} : { 'm.relates_to': inThread(thread) }),
  };
  const path = `${api.inRoom}/send/m.room.message/${encodeURIComponent(key)}`;
  return { id: readAnswer(sent, await api.call('PUT', path, { body, signal }), SERVICE).event_id };
}

async function readBack(api: MatrixApi, key: string, signal: AbortSignal | undefined): Promise<Found> {
  let own = 0;
  for await (const { chunk, more } of api.own(signal)) {
    const found = chunk.find(({ content }) => content[KEY_FIELD] === key);
    if (found) return { id: found.event_id };
    own += chunk.length;
    // What is in doubt is among the bot's latest posts, or nowhere.
    if (!more || own >= PAGE) return 'absent';
  }
  return 'unknown';
}

async function newestPost(api: MatrixApi, keyPrefix: string, signal: AbortSignal | undefined): Promise<Found> {
  for await (const { chunk, more } of api.own(signal)) {
    const found = chunk.find(
      ({ content: { [KEY_FIELD]: key } }) => typeof key === 'string' && key.startsWith(keyPrefix),
    );
    if (found) return { id: found.event_id };
    if (!more) return 'absent';
  }
  return 'unknown';
}

async function readForward(
  api: MatrixApi,
  cursor: string | undefined,
  signal: AbortSignal | undefined,
): Promise<ChatPage> {
  const { room } = api;
  const user = await api.identity(signal);
  const filter = JSON.stringify({
    room: { rooms: [room], timeline: { ...TEXTS, limit: cursor === undefined ? 1 : PAGE }, state: NOTHING },
    presence: NOTHING,
    account_data: NOTHING,
  });
  const waitMs = cursor === undefined ? 0 : SYNC_WAIT_MS;
  const query = { filter, timeout: String(waitMs), ...(cursor === undefined ? {} : { since: cursor }) };
  const answer = await api.call('GET', 'sync', { query, signal, waitMs });
  const { next_batch: next, rooms } = readAnswer(synced, answer, SERVICE);
  if (cursor === undefined) return { messages: [], cursor: next };
  const { timeline } = rooms.join[room] ?? {};
  const missed =
    timeline?.limited && timeline.prev_batch !== undefined
      ? await api.between(timeline.prev_batch, cursor, signal)
      : [];
  return {
    messages: [...missed, ...(timeline?.events ?? [])].flatMap((one) => ofPerson(one, user)),
    cursor: next,
  };
}

const NOTHING = { types: [] };
const TEXTS = { types: ['m.room.message'] };

function inThread(thread: string): object {
  return {
    rel_type: 'm.thread',
    event_id: thread,
    is_falling_back: true,
    'm.in_reply_to': { event_id: thread },
  };
}

/** A person's message; nothing for the bot's own posts, notices, edits, pictures and what else there may be. */
function ofPerson({ type, event_id: id, sender, content }: Event, me: string): ChatMessage[] {
  const parsed = type === 'm.room.message' && sender !== me ? message.safeParse(content) : undefined;
  if (!parsed?.success) return [];
  const { body, 'm.relates_to': relation } = parsed.data;
  if (relation?.rel_type === 'm.replace') return [];
  const thread = relation?.rel_type === 'm.thread' ? relation.event_id : undefined;
  return [{ id, author: sender, text: body, ...(thread === undefined ? {} : { thread }) }];
}

/** https://spec.matrix.org/v1.9/client-server-api/#standard-error-response */
function faultOf({ status, headers, body }: ChatAnswer): ChatError {
  const parsed = fault.safeParse(body);
  const { errcode, error, retry_after_ms: afterMs } = parsed.success ? parsed.data : { errcode: '', error: '' };
  const reason = `the homeserver says ${[status, errcode, error].filter((part) => part !== '').join(' ')}`;
  if (status === 429 || errcode === 'M_LIMIT_EXCEEDED') {
    return new ChatError('rate-limited', reason, { retryAfterMs: afterMs ?? retryAfterMs(headers.get('retry-after')) });
  }
  if (status >= 500) return new ChatError('ambiguous', reason);
  if (status === 413 || status === 400) return new ChatError('unacceptable', reason);
  return new ChatError('refused', reason);
}
