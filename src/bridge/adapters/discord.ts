import { z } from 'zod';
import { ChatError, type ChatAdapter, type ChatMessage, type ChatPage, type PostOptions } from '../adapter.ts';
import { CALL_TIMEOUT_MS, connectionFault } from '../http.ts';
import { needed } from '../needed.ts';

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
/** What a nonce may have there; still 150 bits of the key. */
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
const WORDS_OF_PEOPLE: ReadonlySet<number> = new Set([0, 19]);
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

/**
 * A channel of Discord, by the package `@discordjs/rest` (https://discord.com/developers/docs/reference), which the user
 * installs. It pings nobody and shows no previews. A thread is what a message replies to: answers are replies.
 *
 * Discord checks a nonce for a few minutes and does not keep it: what is in doubt is found again by its text, among the
 * bot's posts since the one before.
 * @throws Error where the package is not installed or `channel` is no id.
 */
export async function discordAdapter(options: DiscordOptions): Promise<ChatAdapter> {
  const { channel, token, timeoutMs = CALL_TIMEOUT_MS } = options;
  if (!/^\d{17,20}$/.test(channel)) throw new Error(`channel must be the id of a Discord channel: ${channel}`);
  const { REST, DiscordAPIError, HTTPError, RateLimitError } = await needed(
    '@discordjs/rest',
    'The bridge to Discord',
    () => import('@discordjs/rest'),
  );
  const rest = new REST({
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
  const messages = `/channels/${channel}/messages` as const;
  let me: string | undefined;
  let lastPost: string | undefined;
  /** For each post in doubt, the one before its first attempt. */
  const before = new Map<string, string>();

  const call = async <T>(
    schema: z.ZodType<T>,
    ask: (signal: AbortSignal) => Promise<unknown>,
    signal?: AbortSignal,
  ) => {
    // The library's own time ends with the headers of the answer.
    const timeout = AbortSignal.timeout(timeoutMs);
    // It forgets the token where that was refused once.
    rest.setToken(token);
    const answer = await ask(signal ? AbortSignal.any([signal, timeout]) : timeout).catch((error: unknown) => {
      signal?.throwIfAborted();
      if (timeout.aborted) throw new ChatError('ambiguous', `no answer from Discord within ${timeoutMs} ms`);
      throw faultOf(error);
    });
    const parsed = schema.safeParse(answer);
    if (parsed.success) return parsed.data;
    throw new ChatError('ambiguous', 'Discord gave an answer that its API does not know');
  };

  const faultOf = (error: unknown): ChatError => {
    if (error instanceof RateLimitError) {
      const afterMs = Math.max(error.retryAfter, error.timeToReset);
      const said = `Discord refuses for now${error.global ? ', all calls of this bot' : ''}`;
      return new ChatError('rate-limited', said, { retryAfterMs: afterMs > 0 ? Math.ceil(afterMs) : undefined });
    }
    if (error instanceof HTTPError) return new ChatError('ambiguous', `Discord says ${error.status} ${error.message}`);
    if (!(error instanceof DiscordAPIError)) return connectionFault(error);
    const { status, code } = error;
    const said = `Discord says ${status} ${code === undefined ? '' : `${code} `}${error.message}`;
    if (UNACCEPTABLE.has(code)) return new ChatError('unacceptable', said);
    if (REFUSED.has(code)) return new ChatError('refused', said);
    return new ChatError(status === 400 || status === 413 ? 'unacceptable' : 'refused', said);
  };

  const identity = async (signal?: AbortSignal): Promise<string> => {
    me ??= (await call(user, (either) => rest.get('/users/@me', { signal: either }), signal)).id;
    return me;
  };

  /** The oldest first: those right after `after`, else the newest. */
  const list = async (limit: number, after: string | undefined, signal?: AbortSignal): Promise<Message[]> => {
    const query = new URLSearchParams({ limit: String(limit), ...(after === undefined ? {} : { after }) });
    const found = await call(z.array(message), (either) => rest.get(messages, { query, signal: either }), signal);
    return found.sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
  };

  const newest = async (signal?: AbortSignal): Promise<string> => (await list(1, undefined, signal)).at(-1)?.id ?? NONE;

  return {
    name: 'discord',
    target: channel,
    limits: { characters: MAX_CHARACTERS },
    pace: PACE,
    escape,
    identity,

    async post(key, text, { thread, signal }: PostOptions = {}) {
      const body = {
        content: text,
        nonce: nonceOf(key),
        enforce_nonce: true,
        allowed_mentions: { parse: [], replied_user: false },
        flags: SUPPRESS_EMBEDS,
        ...(thread === undefined ? {} : { message_reference: { message_id: thread, fail_if_not_exists: false } }),
      };
      if (!before.has(key)) {
        lastPost ??= await newest(signal);
        before.set(key, lastPost);
      }
      const { id } = await call(message, (either) => rest.post(messages, { body, signal: either }), signal);
      lastPost = id;
      before.delete(key);
      return { id };
    },

    async readBack(key, { text, thread, after = before.get(key) }, signal) {
      const own = await identity(signal);
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
        const found = await list(PAGE, from, signal);
        const it = found.find(isIt);
        if (it) return { id: it.id };
        shown ||= after === NONE ? found.length > 0 : found.some(({ id }) => id === after);
        if (after === undefined || !shown) return 'unknown';
        if (found.length < PAGE) return 'absent';
        from = found.at(-1)?.id;
      }
      return 'unknown';
    },

    async readForward(cursor, signal): Promise<ChatPage> {
      if (cursor === undefined) return { messages: [], cursor: await newest(signal) };
      const found = await list(PAGE, cursor, signal);
      return { messages: found.flatMap(ofPerson), cursor: found.at(-1)?.id ?? cursor };
    },
  };
}

function nonceOf(key: string): string {
  return key.slice(0, NONCE_CHARACTERS);
}

/** A person's words; nothing for bots, webhooks, the service's own notices and what has no text. */
function ofPerson({ id, type, content, author, webhook_id: webhook, message_reference: to }: Message): ChatMessage[] {
  if (author.bot || author.system || webhook !== undefined || !WORDS_OF_PEOPLE.has(type) || content === '') return [];
  const thread = type === REPLY ? to?.message_id : undefined;
  return [{ id, author: author.id, text: content, ...(thread === undefined ? {} : { thread }) }];
}

/**
 * Closed code fences and bare links: Discord reads no markup in these, and would show the backslashes. A link that runs into
 * what must be escaped would swallow the backslash: it is made no link.
 */
const VERBATIM = /```[^]*?```|https?:\/\/[^\s<]+[^<.,:;"'\]\s][.,:;"'\]]*(?=\s|$)/g;

function escape(text: string): string {
  let escaped = '';
  let at = 0;
  for (const { 0: verbatim, index } of text.matchAll(VERBATIM)) {
    escaped += plain(text.slice(at, index)) + verbatim;
    at = index + verbatim.length;
  }
  return escaped + plain(text.slice(at));
}

/** A backslash makes a character of markup plain: https://support.discord.com/hc/en-us/articles/210298617 */
function plain(text: string): string {
  return text
    .replace(/[\\*_~`|<[\]]|:(?=\/\/)/g, '\\$&')
    .replace(/^([ \t]*)([-+>#])/gm, '$1\\$2')
    .replace(/^([ \t]*\d+)\./gm, '$1\\.');
}
