import type * as Discord from '@discordjs/rest';
import { z } from 'zod';
import {
  ChatError,
  type ChatAdapter,
  type ChatMessage,
  type ChatPage,
  type Found,
  type PostOptions,
  type SentPost,
} from '../adapter.ts';
import { CALL_TIMEOUT_MS, connectionFault } from '../http.ts';
import { needed } from '../needed.ts';
import { readAnswer, timedCall } from './answer.ts';
import { escape } from './discordMarkup.ts';

/** Options of {@link discordAdapter}. */
export interface DiscordOptions {
  /** The channel's id, 17 to 20 digits. */
  readonly channel: string;
  /** The bot's token, without the word `Bot`. */
  readonly token: string;
  /** How long a call may take, in milliseconds; default 15,000. */
  readonly timeoutMs?: number;
  /** The API, without its version; default `https://discord.com/api`. */
  readonly url?: string;
}

/** https://discord.com/developers/docs/resources/message#create-message */
const MAX_CHARACTERS = 2_000;
/** What a nonce may have there; of the key still 102 bits beside its prefix. */
const NONCE_CHARACTERS = 25;
/** https://discord.com/developers/docs/resources/message#message-object-message-flags: a link shows no preview of a page that nobody asked for. */
const SUPPRESS_EMBEDS = 4;
/** https://discord.com/developers/docs/resources/message#get-channel-messages */
const PAGE = 100;
/** Pages that are read for one post in doubt. */
const MAX_PAGES = 10;

/** https://discord.com/developers/docs/topics/opcodes-and-status-codes#json: one post is at fault, whatever the status. */
const UNACCEPTABLE: ReadonlySet<unknown> = new Set([
  40005, // too large
  50006, // empty
  200000, // blocked by the server's automatic moderation
  240000, // blocked for a harmful link
]);
/** The channel is at fault, although the status is 400. */
const REFUSED: ReadonlySet<unknown> = new Set([
  50008, // not a text channel
  50024, // not for this type of channel
  50083, // an archived thread
  160002, // no permission to read the history, so none to reply
  160005, // a locked thread
]);

/** https://discord.com/developers/docs/resources/message#message-object-message-types */
const MESSAGE_TYPES: ReadonlySet<number> = new Set([0, 19]);
const REPLY = 19;
/**
 * "Rate limits should not be hard coded" (https://docs.discord.com/developers/topics/rate-limits): what its answers say is
 * kept to; a quiet channel is asked less often for courtesy.
 */
const PACE = { busy: 0, quiet: 5_000 };
/** Before every message. */
const NONE = '0';

const user = z.object({ id: z.string(), bot: z.boolean().default(false), system: z.boolean().default(false) });
const message = z.object({
  id: z.string().regex(/^\d+$/),
  type: z.number(),
  content: z.string(),
  author: user,
  webhook_id: z.string().optional(),
  nonce: z.union([z.string(), z.number()]).optional(),
  message_reference: z.object({ message_id: z.string().optional() }).optional(),
});
type Message = z.infer<typeof message>;
/** https://discord.com/developers/docs/resources/channel#channel-object */
const channelInfo = z.object({ last_message_id: z.string().nullish() });

type Library = typeof Discord;

/** The API of one channel, by Discord's own library. */
class DiscordApi {
  readonly channel: string;
  readonly #options: DiscordOptions;
  readonly #library: Library;
  readonly #rest: InstanceType<Library['REST']>;
  readonly #timeoutMs: number;
  #me: string | undefined;
  #lastPost: string | undefined;
  /** For each post in doubt, the one before its first attempt. */
  readonly #before = new Map<string, string>();

  constructor(options: DiscordOptions, library: Library) {
    const { timeoutMs = CALL_TIMEOUT_MS } = options;
    this.channel = options.channel;
    this.#options = options;
    this.#library = library;
    this.#timeoutMs = timeoutMs;
    this.#rest = new library.REST({
      ...(options.url === undefined ? {} : { api: options.url.replace(/\/+$/, '') }),
      version: '10',
      // Only the ledger repeats, and only the ledger waits.
      retries: 0,
      rejectOnRateLimit: () => true,
      offset: 0,
      globalRequestsPerSecond: Number.POSITIVE_INFINITY,
      timeout: timeoutMs,
      // Its timers are for programs that use many routes.
      hashSweepInterval: 0,
      handlerSweepInterval: 0,
    });
  }

  /** The post before the first attempt of the one with this key, where this process has made one. */
  before(key: string): string | undefined {
    return this.#before.get(key);
  }

  async identity(signal?: AbortSignal): Promise<string> {
    this.#me ??= (await this.#call(user, (either) => this.#rest.get('/users/@me', { signal: either }), signal)).id;
    return this.#me;
  }

  /** The newest message that the channel ever had, as the channel itself says; undefined where it never had one. */
  async lastMessage(signal?: AbortSignal): Promise<string | undefined> {
    const ask = (either: AbortSignal) => this.#rest.get(`/channels/${this.channel}`, { signal: either });
    return (await this.#call(channelInfo, ask, signal)).last_message_id ?? undefined;
  }

  /** The oldest first: those right after `after`, or right before `before`, else the newest. */
  async list(limit: number, where: { after?: string; before?: string }, signal?: AbortSignal): Promise<Message[]> {
    const query = new URLSearchParams({ limit: String(limit), ...where });
    const ask = (either: AbortSignal) => this.#rest.get(this.#messages, { query, signal: either });
    const found = await this.#call(z.array(message), ask, signal);
    return found.sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
  }

  async newest(signal?: AbortSignal): Promise<string> {
    return (await this.list(1, {}, signal)).at(-1)?.id ?? NONE;
  }

  async post(key: string, text: string, { thread, signal }: PostOptions = {}): Promise<{ id: string }> {
    const body = {
      content: text,
      nonce: nonceOf(key),
      enforce_nonce: true,
      allowed_mentions: { parse: [], replied_user: false },
      flags: SUPPRESS_EMBEDS,
      ...(thread === undefined ? {} : { message_reference: { message_id: thread, fail_if_not_exists: false } }),
    };
    if (!this.#before.has(key)) {
      this.#lastPost ??= await this.newest(signal);
      this.#before.set(key, this.#lastPost);
    }
    const ask = (either: AbortSignal) => this.#rest.post(this.#messages, { body, signal: either });
    const { id } = await this.#call(message, ask, signal);
    this.#lastPost = id;
    this.#before.delete(key);
    return { id };
  }

  get #messages(): `/channels/${string}/messages` {
    return `/channels/${this.channel}/messages`;
  }

  async #call<T>(
    schema: z.ZodType<T>,
    ask: (signal: AbortSignal) => Promise<unknown>,
    signal?: AbortSignal,
  ): Promise<T> {
    // It forgets the token where that was refused once.
    this.#rest.setToken(this.#options.token);
    // The library's own time ends with the headers of the answer.
    const limits = { timeoutMs: this.#timeoutMs, signal };
    const answer = await timedCall('Discord', limits, ask, (error) => this.#faultOf(error));
    return readAnswer(schema, answer, 'Discord');
  }

  #faultOf(error: unknown): ChatError {
    const { RateLimitError, HTTPError, DiscordAPIError } = this.#library;
    if (error instanceof RateLimitError) {
      const afterMs = Math.max(error.retryAfter, error.timeToReset);
      const reason = `Discord refuses for now${error.global ? ', all calls of this bot' : ''}`;
      return new ChatError('rate-limited', reason, { retryAfterMs: afterMs > 0 ? Math.ceil(afterMs) : undefined });
    }
    if (error instanceof HTTPError) return new ChatError('ambiguous', `Discord says ${error.status} ${error.message}`);
    if (!(error instanceof DiscordAPIError)) return connectionFault(error);
    const { status, code } = error;
    const reason = `Discord says ${status} ${code === undefined ? '' : `${code} `}${error.message}`;
    if (UNACCEPTABLE.has(code)) return new ChatError('unacceptable', reason);
    if (REFUSED.has(code)) return new ChatError('refused', reason);
    return new ChatError(status === 400 || status === 413 ? 'unacceptable' : 'refused', reason);
  }
}

/**
 * A channel of Discord, by the package `@discordjs/rest` (https://discord.com/developers/docs/reference), which the user
 * installs. It pings nobody and shows no previews. A thread is what a message replies to: answers are replies.
 *
 * Discord checks a nonce for a few minutes and does not keep it: what is in doubt is found again by its text, among the
 * bot's posts since the one before.
 * @throws Error where the package is not installed or `channel` is no id.
 */
export async function discordAdapter(options: DiscordOptions): Promise<ChatAdapter> {
  const { channel } = options;
  if (!/^\d{17,20}$/.test(channel)) throw new Error(`channel must be the id of a Discord channel: ${channel}`);
  const library = await needed('@discordjs/rest', 'The bridge to Discord', () => import('@discordjs/rest'));
  const api = new DiscordApi(options, library);
  return {
    name: 'discord',
    target: channel,
    limits: { characters: MAX_CHARACTERS },
    pace: PACE,
    escape,
    identity: async (signal) => await api.identity(signal),
    post: async (key, text, where) => await api.post(key, text, where),
    readBack: async (key, sent, signal) => await readBack(api, key, sent, signal),
    newestPost: async (_, signal) => await newestPost(api, signal),
    readForward: async (cursor, signal) => await readForward(api, cursor, signal),
  };
}

async function readBack(
  api: DiscordApi,
  key: string,
  { text, thread, after = api.before(key) }: SentPost,
  signal: AbortSignal | undefined,
): Promise<Found> {
  const own = await api.identity(signal);
  const content = text.trim();
  const isIt = (one: Message): boolean =>
    one.author.id === own &&
    (one.nonce === nonceOf(key) ||
      (after !== undefined &&
        one.id !== after &&
        one.content === content &&
        one.message_reference?.message_id === thread));
  // With the post before it as the first: without the permission to read the history, Discord shows an empty channel.
  let from = after === undefined || after === NONE ? after : String(BigInt(after) - 1n);
  let shown = false;
  for (let page = 0; page < MAX_PAGES; page++) {
    const found = await api.list(PAGE, from === undefined ? {} : { after: from }, signal);
    const it = found.find(isIt);
    if (it) return { id: it.id };
    shown ||= after === NONE ? found.length > 0 : found.some(({ id }) => id === after);
    if (after === undefined || !shown) return 'unknown';
    if (found.length < PAGE) return 'absent';
    from = found.at(-1)?.id;
  }
  return 'unknown';
}

async function newestPost(api: DiscordApi, signal: AbortSignal | undefined): Promise<Found> {
  const own = await api.identity(signal);
  let before: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const found = await api.list(PAGE, before === undefined ? {} : { before }, signal);
    const it = found.findLast(({ author }) => author.id === own);
    if (it) return { id: it.id };
    // Empty is shown also where the bot may not read the history: then the channel has a newest message all the same.
    if (page === 0 && found.length === 0) return (await api.lastMessage(signal)) === undefined ? 'absent' : 'unknown';
    if (found.length < PAGE) return 'absent';
    before = found[0]?.id;
  }
  return 'unknown';
}

async function readForward(
  api: DiscordApi,
  cursor: string | undefined,
  signal: AbortSignal | undefined,
): Promise<ChatPage> {
  if (cursor === undefined) return { messages: [], cursor: await api.newest(signal) };
  const found = await api.list(PAGE, { after: cursor }, signal);
  return { messages: found.flatMap(ofPerson), cursor: found.at(-1)?.id ?? cursor };
}

function nonceOf(key: string): string {
  return key.slice(0, NONCE_CHARACTERS);
}

/** A person's message; nothing for bots, webhooks, the service's own notices and what has no text. */
function ofPerson({ id, type, content, author, webhook_id: webhook, message_reference: to }: Message): ChatMessage[] {
  if (author.bot || author.system || webhook !== undefined || !MESSAGE_TYPES.has(type) || content === '') return [];
  const thread = type === REPLY ? to?.message_id : undefined;
  return [{ id, author: author.id, text: content, ...(thread === undefined ? {} : { thread }) }];
}
