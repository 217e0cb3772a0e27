import { z } from 'zod';
import { ChatError, type ChatAdapter, type ChatMessage, type ChatPage, type PostOptions } from '../adapter.ts';
import { CALL_TIMEOUT_MS, connectionFault, retryAfterMs } from '../http.ts';
import { needed } from '../needed.ts';

/** Options of {@link slackAdapter}. */
export interface SlackOptions {
  /** The channel's id, e.g. `C0123456789`; a name may come to mean another channel. */
  readonly channel: string;
  /** The bot's token, `xoxb-…`; the bot has been invited to the channel. */
  readonly token: string;
  /** How long a call may take, in milliseconds; default 15,000. */
  readonly timeoutMs?: number;
  /** The API; default `https://slack.com/api/`. */
  readonly url?: string;
}

/**
 * What Slack advises for one message; it cuts off what is beyond 40,000 characters and may split what is beyond 4,000
 * (https://docs.slack.dev/reference/methods/chat.postMessage#truncating), so a longer one is not sent at all.
 */
const MAX_CHARACTERS = 4_000;
/** https://docs.slack.dev/reference/methods/conversations.history advises no more. */
const PAGE = 200;
/** Pages that are read for one post in doubt, or for what was said while nobody listened. */
const MAX_PAGES = 25;
/**
 * conversations.history and conversations.replies have tier 3 (https://docs.slack.dev/reference/methods/conversations.history):
 * "50+ per minute" each (https://docs.slack.dev/apis/web-api/rate-limits), of which looks in doubt need some. An app that has
 * one a minute is told so by `Retry-After`.
 */
const PACE = { busy: 1_500, quiet: 10_000 };
/** Names the metadata that carries a post's key: https://docs.slack.dev/messaging/message-metadata */
const EVENT_TYPE = 'synod_post';
/** Before every message. */
const NONE = '0000000000.000000';

/** https://docs.slack.dev/reference/methods/chat.postMessage#errors: one post is at fault. */
const UNACCEPTABLE: ReadonlySet<string> = new Set([
  'msg_too_long',
  'no_text',
  'invalid_arguments',
  'invalid_array_arg',
  'invalid_charset',
  'invalid_form_data',
  'invalid_metadata_format',
  'invalid_metadata_schema',
  'metadata_too_large',
  'metadata_must_be_sent_from_app',
  'cannot_reply_to_message',
  'restricted_action_thread_locked',
  'message_not_found',
  'thread_not_found',
]);
const RATE_LIMITED: ReadonlySet<string> = new Set(['ratelimited', 'rate_limited', 'message_limit_exceeded']);
/** "It's possible some aspect of the operation succeeded before the error was raised." */
const AMBIGUOUS: ReadonlySet<string> = new Set([
  'fatal_error',
  'internal_error',
  'request_timeout',
  'service_unavailable',
  'team_added_to_org',
]);
/** What Slack's client says of an answer that is no JSON is the answer itself. */
const ERROR_CODE = /^[a-z][a-z0-9_]{0,79}$/;

/** https://docs.slack.dev/reference/events/message#subtypes: the others are notices, edits and bots. */
const WORDS_OF_PEOPLE: ReadonlySet<string | undefined> = new Set([undefined, 'thread_broadcast', 'file_share']);
const SLACKBOT = 'USLACKBOT';

const sent = z.object({ ts: z.string() });
const whoami = z.object({ user_id: z.string() });
const message = z.object({
  type: z.string(),
  subtype: z.string().optional(),
  ts: z.string(),
  user: z.string().optional(),
  bot_id: z.string().optional(),
  text: z.string().default(''),
  thread_ts: z.string().optional(),
  latest_reply: z.string().optional(),
  metadata: z
    .object({ event_type: z.string(), event_payload: z.looseObject({}) })
    .optional()
    .catch(undefined),
});
type Message = z.infer<typeof message>;
const page = z.object({
  messages: z.array(message),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
});

/**
 * A channel of Slack, by the package `@slack/web-api` (https://docs.slack.dev/reference/methods), which the user installs.
 * It posts text without markup and without previews, which names nobody; a post's metadata carries its key.
 * @throws Error where the package is not installed or `channel` is no id.
 */
export async function slackAdapter(options: SlackOptions): Promise<ChatAdapter> {
  const { channel, token, timeoutMs = CALL_TIMEOUT_MS } = options;
  if (!/^[CDG][A-Z0-9]{8,}$/.test(channel)) throw new Error(`channel must be the id of a Slack channel: ${channel}`);
  const { WebClient, WebAPIPlatformError, WebAPIHTTPError, LogLevel } = await needed(
    '@slack/web-api',
    'The bridge to Slack',
    () => import('@slack/web-api'),
  );
  let me: string | undefined;

  const call = async <T>(schema: z.ZodType<T>, method: string, args: Record<string, unknown>, signal?: AbortSignal) => {
    const timeout = AbortSignal.timeout(timeoutMs);
    const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
    let answered: Response | undefined;
    // A client for each call: it takes no signal, and does not tell of a 429 without a hint what it was.
    const client = new WebClient(token, {
      ...(options.url === undefined ? {} : { slackApiUrl: options.url }),
      fetch: async (url, init) => (answered = await fetch(url, { ...init, signal: either })),
      // Only the ledger repeats, and only the ledger waits.
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      allowAbsoluteUrls: false,
      logger: { ...SILENT, getLevel: () => LogLevel.ERROR },
    });
    const answer = await client.apiCall(method, args).catch((error: unknown) => {
      signal?.throwIfAborted();
      if (timeout.aborted) throw new ChatError('ambiguous', `no answer from Slack within ${timeoutMs} ms`);
      throw faultOf(method, error, answered);
    });
    const parsed = schema.safeParse(answer);
    if (parsed.success) return parsed.data;
    throw new ChatError('ambiguous', `Slack gave an answer to ${method} that its API does not know`);
  };

  const faultOf = (method: string, error: unknown, answered: Response | undefined): ChatError => {
    if (answered?.status === 429) {
      const afterMs = retryAfterMs(answered.headers.get('retry-after'));
      return new ChatError('rate-limited', `Slack refuses ${method} for now`, { retryAfterMs: afterMs });
    }
    if (error instanceof WebAPIHTTPError) {
      const { statusCode } = error;
      const fault =
        statusCode >= 500 || statusCode === 408 ? 'ambiguous' : statusCode === 413 ? 'unacceptable' : 'refused';
      return new ChatError(fault, `Slack says ${statusCode} to ${method}`);
    }
    if (!(error instanceof WebAPIPlatformError)) return connectionFault(error);
    const { error: code } = error.data;
    if (!ERROR_CODE.test(code)) return new ChatError('ambiguous', `Slack's answer to ${method} is no JSON`);
    const { needed: scope } = lacking.parse(error.data);
    const said = `Slack says ${code} to ${method}${scope === undefined ? '' : `, which needs the scope ${scope}`}`;
    if (RATE_LIMITED.has(code)) return new ChatError('rate-limited', said);
    if (AMBIGUOUS.has(code)) return new ChatError('ambiguous', said);
    return new ChatError(UNACCEPTABLE.has(code) ? 'unacceptable' : 'refused', said);
  };

  const identity = async (signal?: AbortSignal): Promise<string> => {
    me ??= (await call(whoami, 'auth.test', {}, signal)).user_id;
    return me;
  };

  /** Page by page, up to {@link MAX_PAGES}: of the channel the newest first, of a thread the oldest. */
  async function* pages(
    query: { thread?: string | undefined; oldest?: string | undefined; metadata?: boolean },
    signal?: AbortSignal,
  ): AsyncGenerator<{ messages: Message[]; more: boolean }> {
    const { thread, oldest, metadata = false } = query;
    const method = thread === undefined ? 'conversations.history' : 'conversations.replies';
    const args = { channel, ts: thread, oldest, limit: PAGE, include_all_metadata: metadata };
    for (let i = 0, cursor: string | undefined; i < MAX_PAGES; i++) {
      const { messages, response_metadata: next } = await call(page, method, { ...args, cursor }, signal);
      cursor = next?.next_cursor;
      const more = cursor !== undefined && cursor !== '';
      yield { messages, more };
      if (!more) return;
    }
  }

  const replies = async (thread: string, after: string, upTo: string, signal?: AbortSignal): Promise<Message[]> => {
    const found: Message[] = [];
    for await (const { messages } of pages({ thread, oldest: after }, signal)) {
      // The message that began it is always among them.
      found.push(...messages.filter(({ ts }) => ts !== thread && ts > after && ts <= upTo));
    }
    return found;
  };

  return {
    name: 'slack',
    target: channel,
    limits: { characters: MAX_CHARACTERS },
    pace: PACE,
    escape: (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
    identity,

    async post(key, text, { thread, signal }: PostOptions = {}) {
      if (text.length > MAX_CHARACTERS) {
        throw new ChatError(
          'unacceptable',
          `a post to Slack may have ${MAX_CHARACTERS} characters, not ${text.length}`,
        );
      }
      const args = {
        channel,
        text,
        mrkdwn: false,
        parse: 'none',
        link_names: false,
        unfurl_links: false,
        unfurl_media: false,
        metadata: { event_type: EVENT_TYPE, event_payload: { key } },
        thread_ts: thread,
      };
      return { id: (await call(sent, 'chat.postMessage', args, signal)).ts };
    },

    async readBack(key, { thread, after }, signal) {
      try {
        for await (const { messages, more } of pages({ thread, oldest: after, metadata: true }, signal)) {
          const it = messages.find(({ metadata: m }) => m?.event_type === EVENT_TYPE && m.event_payload['key'] === key);
          if (it) return { id: it.ts };
          if (!more) return 'absent';
        }
        return 'unknown';
      } catch (error) {
        if (isGone(error)) return 'absent';
        throw error;
      }
    },

    async readForward(cursor, signal): Promise<ChatPage> {
      const roots: Message[] = [];
      // What was there when it began to read: newer answers must not move the cursor past what it has not seen.
      let upTo: string | undefined;
      // From the newest back, and always one page: the channel shows an answer only by its thread's first message.
      for await (const { messages } of pages({}, signal)) {
        roots.push(...messages);
        upTo ??= newest(messages) ?? cursor ?? NONE;
        if (cursor === undefined || (roots.at(-1)?.ts ?? NONE) <= cursor) break;
      }
      const end = upTo ?? cursor ?? NONE;
      if (cursor === undefined || end <= cursor) return { messages: [], cursor: end };
      const said = new Map(roots.filter(({ ts }) => ts > cursor && ts <= end).map((one) => [one.ts, one]));
      for (const { ts, latest_reply: latest } of roots) {
        if (latest === undefined || latest <= cursor) continue;
        const found = await replies(ts, cursor, end, signal).catch((error: unknown) => {
          if (isGone(error)) return [];
          throw error;
        });
        for (const one of found) said.set(one.ts, one);
      }
      const inOrder = [...said.values()].sort((a, b) => (a.ts < b.ts ? -1 : 1));
      return { messages: inOrder.flatMap(ofPerson), cursor: end };
    },
  };
}

const lacking = z.object({ needed: z.string().optional().catch(undefined) });

/** A thread whose first message was deleted meanwhile. */
function isGone(error: unknown): boolean {
  return error instanceof ChatError && error.fault === 'unacceptable' && error.message.includes('thread_not_found');
}

function newest(messages: readonly Message[]): string | undefined {
  return messages
    .flatMap(({ ts, latest_reply: latest }) => (latest === undefined ? [ts] : [ts, latest]))
    .sort()
    .at(-1);
}

/** A person's words; nothing for bots, edits, notices and what has no text. */
function ofPerson({ type, subtype, ts, user, bot_id: bot, text, thread_ts: thread }: Message): ChatMessage[] {
  if (type !== 'message' || bot !== undefined || user === undefined || user === SLACKBOT) return [];
  if (!WORDS_OF_PEOPLE.has(subtype) || text === '') return [];
  const inThread = thread !== undefined && thread !== ts;
  return [{ id: ts, author: user, text: plain(text), ...(inThread ? { thread } : {}) }];
}

/** What somebody has typed: Slack makes links and mentions of it (https://docs.slack.dev/messaging/formatting-message-text). */
function plain(text: string): string {
  return text
    .replace(/<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>/g, (_, sigil: string, target: string, label?: string) => {
      if (sigil !== '') return `${sigil === '#' ? '#' : '@'}${(label ?? target).replace(/^[@#]/, '')}`;
      // The label is what was typed, e.g. `example.org` for `http://example.org`; or else it hides where the link leads.
      return label === undefined ? target : target.endsWith(label) ? label : `${label} (${target})`;
    })
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

const nothing = (): void => {};
/** Its client would print what the adapter says by its errors. */
const SILENT = { debug: nothing, info: nothing, warn: nothing, error: nothing, setLevel: nothing, setName: nothing };
