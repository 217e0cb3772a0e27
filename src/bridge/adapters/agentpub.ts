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

/** Options of {@link agentpubAdapter}. */
export interface AgentpubOptions {
  /** Default `https://api.agentspub.ai`. */
  readonly url?: string;
  /** The room's id, e.g. `room_9f2`. */
  readonly room: string;
  /** The token of the bridge's agent. */
  readonly token: string;
  /** The id of that agent, as others see it in `from`. */
  readonly agent: string;
  /** Who of the room is a person, by `from`: the API does not say, so everybody else is taken for a bot and not read. */
  readonly people: readonly string[];
  /** UTF-16 units of one post; default 4,000. */
  readonly maxCharacters?: number;
  /** How long a call may take, in milliseconds; default 15,000. */
  readonly timeoutMs?: number;
}

const DEFAULT_MAX_CHARACTERS = 4_000;
const PAGE = 200;
/** Pages that are read for one post in doubt. */
const MAX_PAGES = 50;
/** Its article names no limit; a quiet room is asked less often for courtesy, in milliseconds. */
const QUIET_MS = 5_000;
/** Whoever gets a post may act on it, but sends nothing on. */
const MAX_HOPS = 1;

/** Before every message. */
const NONE = '';

const posted = z.object({ id: z.string() });
const envelope = z.object({
  id: z.string(),
  from: z.string(),
  text: z.string().optional().catch(undefined),
  in_reply_to: z.string().optional().catch(undefined),
  idempotency_key: z.string().optional().catch(undefined),
});
type Envelope = z.infer<typeof envelope>;
const listed = z.union([
  z.array(envelope),
  z.object({ messages: z.array(envelope) }).transform((page) => page.messages),
]);
const failed = z.object({
  error: z.union([z.string(), z.object({ message: z.string() }).transform((e) => e.message)]),
});

/** The API of one room. */
class AgentpubApi {
  readonly agent: string;
  readonly #messages: string;
  readonly #options: AgentpubOptions;

  constructor(options: AgentpubOptions) {
    const base = (options.url ?? 'https://api.agentspub.ai').replace(/\/+$/, '');
    this.#messages = `${base}/v1/rooms/${encodeURIComponent(options.room)}/messages`;
    this.#options = options;
    this.agent = options.agent;
  }

  async call(
    method: 'GET' | 'POST',
    query: Record<string, string>,
    body: unknown,
    signal?: AbortSignal,
  ): Promise<ChatAnswer> {
    const { token, timeoutMs } = this.#options;
    const url = new URL(this.#messages);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const headers = { authorization: `Bearer ${token}` };
    const answer = await callChat({ method, url, headers, body, timeoutMs, signal });
    // A conflict is for whoever has posted.
    if (answer.status < 300 || answer.status === 409) return answer;
    throw faultOf(answer);
  }

  async list(after: string | undefined, limit: number, signal?: AbortSignal): Promise<Envelope[]> {
    const query = { limit: String(limit), ...(after === undefined || after === NONE ? {} : { after }) };
    return readAnswer(listed, (await this.call('GET', query, undefined, signal)).body, 'the room');
  }

  /** Page by page to the end, the oldest first. */
  async *pages(after: string | undefined, signal?: AbortSignal): AsyncGenerator<Envelope[]> {
    for (let from = after; ;) {
      const found = await this.list(from, PAGE, signal);
      yield found;
      const last = found.at(-1)?.id;
      if (last === undefined || last === from) return;
      from = last;
    }
  }
}

/**
 * A room of AgentPub, or of a service like it: small envelopes by REST, a bearer token, an idempotency key, reading forward
 * after a message (https://api.agentspub.ai/v1/rooms/{room}/messages). A thread is what a message is `in_reply_to`.
 */
export function agentpubAdapter(options: AgentpubOptions): ChatAdapter {
  const people = new Set(options.people);
  const api = new AgentpubApi(options);
  return {
    name: 'agentpub',
    target: options.room,
    limits: { characters: options.maxCharacters ?? DEFAULT_MAX_CHARACTERS },
    pace: { busy: 0, quiet: QUIET_MS },
    escape: (text) => text,
    async identity(signal) {
      await api.list(undefined, 1, signal);
      return api.agent;
    },
    post: async (key, text, where) => await post(api, key, text, where),
    readBack: async (key, { after }, signal) => await readBack(api, key, after, signal),
    newestPost: async (keyPrefix, signal) => await newestPost(api, keyPrefix, signal),
    readForward: async (cursor, signal) => await readForward(api, people, cursor, signal),
  };
}

async function post(
  api: AgentpubApi,
  key: string,
  text: string,
  { thread, signal }: PostOptions = {},
): Promise<{ id: string }> {
  const body = {
    type: 'room.post',
    text,
    max_hops: MAX_HOPS,
    idempotency_key: key,
    ...(thread === undefined ? {} : { in_reply_to: thread }),
  };
  const answer = await api.call('POST', {}, body, signal);
  if (answer.status !== 409) return { id: readAnswer(posted, answer.body, 'the room').id };
  // The key has come with another text, e.g. before this one was marked as a repeat: that post counts.
  const first = await readBack(api, key, undefined, signal);
  if (typeof first === 'object') return first;
  throw new ChatError('unacceptable', `the room says 409 to a key that it does not show`);
}

async function readBack(
  api: AgentpubApi,
  key: string,
  after: string | undefined,
  signal: AbortSignal | undefined,
): Promise<Found> {
  let count = 0;
  let keyless = false;
  for await (const found of api.pages(after, signal)) {
    const own = found.filter(({ from }) => from === api.agent);
    const it = own.find(({ idempotency_key: one }) => one === key);
    if (it) return { id: it.id };
    // A room that does not show keys shows nothing by their absence.
    keyless ||= own.some(({ idempotency_key: one }) => one === undefined);
    if ((count += 1) >= MAX_PAGES) return 'unknown';
  }
  return keyless ? 'unknown' : 'absent';
}

/** The API reads forward alone, so the whole room is read, up to {@link MAX_PAGES}. Without keys any own post counts. */
async function newestPost(api: AgentpubApi, keyPrefix: string, signal: AbortSignal | undefined): Promise<Found> {
  let count = 0;
  let newest: { id: string } | undefined;
  for await (const found of api.pages(undefined, signal)) {
    const own = found.filter(
      ({ from, idempotency_key: key = keyPrefix }) => from === api.agent && key.startsWith(keyPrefix),
    );
    const last = own.at(-1);
    if (last) newest = { id: last.id };
    if ((count += 1) >= MAX_PAGES) return newest ?? 'unknown';
  }
  return newest ?? 'absent';
}

async function readForward(
  api: AgentpubApi,
  people: ReadonlySet<string>,
  cursor: string | undefined,
  signal: AbortSignal | undefined,
): Promise<ChatPage> {
  if (cursor !== undefined) {
    const found = await api.list(cursor, PAGE, signal);
    return { messages: found.flatMap((one) => ofPerson(one, people)), cursor: found.at(-1)?.id ?? cursor };
  }
  let last: string | undefined;
  for await (const found of api.pages(undefined, signal)) last = found.at(-1)?.id ?? last;
  return { messages: [], cursor: last ?? NONE };
}

function ofPerson({ id, from, text, in_reply_to: thread }: Envelope, people: ReadonlySet<string>): ChatMessage[] {
  if (!people.has(from) || text === undefined || text === '') return [];
  return [{ id, author: from, text, ...(thread === undefined ? {} : { thread }) }];
}

function faultOf({ status, headers, body }: ChatAnswer): ChatError {
  const parsed = failed.safeParse(body);
  const reason = `the room says ${status}${parsed.success ? ` ${parsed.data.error}` : ''}`;
  if (status === 429) {
    return new ChatError('rate-limited', reason, { retryAfterMs: retryAfterMs(headers.get('retry-after')) });
  }
  if (status >= 500 || status === 408) return new ChatError('ambiguous', reason);
  return new ChatError([400, 413, 422].includes(status) ? 'unacceptable' : 'refused', reason);
}
