import type * as Slack from '@slack/web-api';
import { z } from 'zod';
import { ChatError } from '../adapter.ts';
import { CALL_TIMEOUT_MS, connectionFault, retryAfterMs } from '../http.ts';
import { readAnswer, timedCall } from './answer.ts';

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

/** https://docs.slack.dev/reference/methods/conversations.history advises no more. */
const PAGE = 200;
/** Pages that are read for one post in doubt, or for what was written while nobody read. */
const MAX_PAGES = 25;
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

const whoami = z.object({ user_id: z.string() });
/** A message as Slack shows it. */
export const message = z.object({
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
export type Message = z.infer<typeof message>;
const page = z.object({
  messages: z.array(message),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
});

const lacking = z.object({ needed: z.string().optional().catch(undefined) });

type Library = typeof Slack;

/** The API of one channel, by Slack's own client. */
export class SlackApi {
  readonly channel: string;
  readonly #options: SlackOptions;
  readonly #library: Library;
  #me: string | undefined;

  constructor(options: SlackOptions, library: Library) {
    this.channel = options.channel;
    this.#options = options;
    this.#library = library;
  }

  async identity(signal?: AbortSignal): Promise<string> {
    this.#me ??= (await this.call(whoami, 'auth.test', {}, signal)).user_id;
    return this.#me;
  }

  async call<T>(
    schema: z.ZodType<T>,
    method: string,
    args: Record<string, unknown>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const { token, url: slackApiUrl, timeoutMs = CALL_TIMEOUT_MS } = this.#options;
    const { WebClient, LogLevel } = this.#library;
    let answered: Response | undefined;
    const ask = async (either: AbortSignal): Promise<unknown> => {
      // A client for each call: it takes no signal, and does not say of a 429 without a hint what it was.
      const client = new WebClient(token, {
        ...(slackApiUrl === undefined ? {} : { slackApiUrl }),
        fetch: async (url, init) => (answered = await fetch(url, { ...init, signal: either })),
        // Only the ledger repeats, and only the ledger waits.
        retryConfig: { retries: 0 },
        rejectRateLimitedCalls: true,
        allowAbsoluteUrls: false,
        logger: { ...SILENT, getLevel: () => LogLevel.ERROR },
      });
      return await client.apiCall(method, args);
    };
    const answer = await timedCall('Slack', { timeoutMs, signal }, ask, (error) =>
      this.#faultOf(method, error, answered),
    );
    return readAnswer(schema, answer, `Slack (${method})`);
  }

  /** Page by page, up to {@link MAX_PAGES}: of the channel the newest first, of a thread the oldest. */
  async *pages(
    query: { thread?: string | undefined; oldest?: string | undefined; metadata?: boolean },
    signal: AbortSignal | undefined,
  ): AsyncGenerator<{ messages: Message[]; more: boolean }> {
    const { thread, oldest, metadata = false } = query;
    const method = thread === undefined ? 'conversations.history' : 'conversations.replies';
    const args = { channel: this.channel, ts: thread, oldest, limit: PAGE, include_all_metadata: metadata };
    for (let i = 0, cursor: string | undefined; i < MAX_PAGES; i++) {
      const { messages, response_metadata: next } = await this.call(page, method, { ...args, cursor }, signal);
      cursor = next?.next_cursor;
      const more = cursor !== undefined && cursor !== '';
      yield { messages, more };
      if (!more) return;
    }
  }

  /** The answers in a thread between two times. */
  async replies(thread: string, after: string, upTo: string, signal: AbortSignal | undefined): Promise<Message[]> {
    const found: Message[] = [];
    for await (const { messages } of this.pages({ thread, oldest: after }, signal)) {
      // The message that began it is always among them.
      found.push(...messages.filter(({ ts }) => ts !== thread && ts > after && ts <= upTo));
    }
    return found;
  }

  #faultOf(method: string, error: unknown, answered: Response | undefined): ChatError {
    const { WebAPIPlatformError, WebAPIHTTPError } = this.#library;
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
    const reason = `Slack says ${code} to ${method}${scope === undefined ? '' : `, which needs the scope ${scope}`}`;
    if (RATE_LIMITED.has(code)) return new ChatError('rate-limited', reason);
    if (AMBIGUOUS.has(code)) return new ChatError('ambiguous', reason);
    return new ChatError(UNACCEPTABLE.has(code) ? 'unacceptable' : 'refused', reason);
  }
}

/** A thread whose first message was deleted meanwhile. */
export function isGone(error: unknown): boolean {
  return error instanceof ChatError && error.fault === 'unacceptable' && error.message.includes('thread_not_found');
}

const nothing = (): void => {};
/** Its client would print what the adapter's errors say. */
const SILENT = { debug: nothing, info: nothing, warn: nothing, error: nothing, setLevel: nothing, setName: nothing };
