import { z } from 'zod';
import {
  ChatError,
  type ChatAdapter,
  type ChatMessage,
  type ChatPage,
  type Found,
  type PostOptions,
} from '../adapter.ts';
import { needed } from '../needed.ts';
import { isGone, SlackApi, type Message, type SlackOptions } from './slackApi.ts';

export type { SlackOptions } from './slackApi.ts';

/**
 * What Slack advises for one message; it cuts off what is beyond 40,000 characters and may split what is beyond 4,000
 * (https://docs.slack.dev/reference/methods/chat.postMessage#truncating), so a longer one is not sent at all.
 */
const MAX_CHARACTERS = 4_000;
/**
 * conversations.history and conversations.replies have tier 3 (https://docs.slack.dev/reference/methods/conversations.history):
 * "50+ per minute" each (https://docs.slack.dev/apis/web-api/rate-limits), of which reading back needs some. An app that has
 * one a minute learns it from `Retry-After`.
 */
const PACE = { busy: 1_500, quiet: 10_000 };
/** Names the metadata that carries a post's key: https://docs.slack.dev/messaging/message-metadata */
const EVENT_TYPE = 'synod_post';
/** Before every message. */
const NONE = '0000000000.000000';

/** https://docs.slack.dev/reference/events/message#subtypes: the others are notices, edits and bots. */
const MESSAGE_SUBTYPES: ReadonlySet<string | undefined> = new Set([undefined, 'thread_broadcast', 'file_share']);
const SLACKBOT = 'USLACKBOT';

const sent = z.object({ ts: z.string() });

/**
 * A channel of Slack, by the package `@slack/web-api` (https://docs.slack.dev/reference/methods), which the user installs.
 * It posts text without markup and without previews, which names nobody; a post's metadata carries its key.
 * @throws Error where the package is not installed or `channel` is no id.
 */
export async function slackAdapter(options: SlackOptions): Promise<ChatAdapter> {
  const { channel } = options;
  if (!/^[CDG][A-Z0-9]{8,}$/.test(channel)) throw new Error(`channel must be the id of a Slack channel: ${channel}`);
  const library = await needed('@slack/web-api', 'The bridge to Slack', () => import('@slack/web-api'));
  const api = new SlackApi(options, library);
  return {
    name: 'slack',
    target: channel,
    limits: { characters: MAX_CHARACTERS },
    pace: PACE,
    escape: (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
    identity: async (signal) => await api.identity(signal),
    post: async (key, text, where) => await post(api, key, text, where),
    readBack: async (key, { thread, after }, signal) => {
      const found = (one: Message): boolean => keyOf(one) === key;
      try {
        return await find(api, { thread, oldest: after }, found, signal);
      } catch (error) {
        if (isGone(error)) return 'absent';
        throw error;
      }
    },
    newestPost: async (keyPrefix, signal) => {
      const own = await api.identity(signal);
      const found = (one: Message): boolean => one.user === own && keyOf(one)?.startsWith(keyPrefix) === true;
      return await find(api, {}, found, signal);
    },
    readForward: async (cursor, signal) => await readForward(api, cursor, signal),
  };
}

async function post(
  api: SlackApi,
  key: string,
  text: string,
  { thread, signal }: PostOptions = {},
): Promise<{ id: string }> {
  if (text.length > MAX_CHARACTERS) {
    throw new ChatError('unacceptable', `a post to Slack may have ${MAX_CHARACTERS} characters, not ${text.length}`);
  }
  const args = {
    channel: api.channel,
    text,
    mrkdwn: false,
    parse: 'none',
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
    metadata: { event_type: EVENT_TYPE, event_payload: { key } },
    thread_ts: thread,
  };
  return { id: (await api.call(sent, 'chat.postMessage', args, signal)).ts };
}

function keyOf({ metadata }: Message): string | undefined {
  const key = metadata?.event_type === EVENT_TYPE ? metadata.event_payload['key'] : undefined;
  return typeof key === 'string' ? key : undefined;
}

async function find(
  api: SlackApi,
  where: { thread?: string | undefined; oldest?: string | undefined },
  found: (one: Message) => boolean,
  signal: AbortSignal | undefined,
): Promise<Found> {
  for await (const { messages, more } of api.pages({ ...where, metadata: true }, signal)) {
    const it = messages.find(found);
    if (it) return { id: it.ts };
    if (!more) return 'absent';
  }
  return 'unknown';
}

async function readForward(
  api: SlackApi,
  cursor: string | undefined,
  signal: AbortSignal | undefined,
): Promise<ChatPage> {
  const roots: Message[] = [];
  // What was there when it began to read: newer answers must not move the cursor past what it has not seen.
  let upTo: string | undefined;
  // From the newest back, and always one page: the channel shows an answer only by its thread's first message.
  for await (const { messages } of api.pages({}, signal)) {
    roots.push(...messages);
    upTo ??= newest(messages) ?? cursor ?? NONE;
    if (cursor === undefined || (roots.at(-1)?.ts ?? NONE) <= cursor) break;
  }
  const end = upTo ?? cursor ?? NONE;
  if (cursor === undefined || end <= cursor) return { messages: [], cursor: end };
  const written = new Map(roots.filter(({ ts }) => ts > cursor && ts <= end).map((one) => [one.ts, one]));
  for (const { ts, latest_reply: latest } of roots) {
    if (latest === undefined || latest <= cursor) continue;
    const found = await api.replies(ts, cursor, end, signal).catch((error: unknown) => {
      if (isGone(error)) return [];
      throw error;
    });
    for (const one of found) written.set(one.ts, one);
  }
  const inOrder = [...written.values()].sort((a, b) => (a.ts < b.ts ? -1 : 1));
  return { messages: inOrder.flatMap(ofPerson), cursor: end };
}

function newest(messages: readonly Message[]): string | undefined {
  return messages
    .flatMap(({ ts, latest_reply: latest }) => (latest === undefined ? [ts] : [ts, latest]))
    .sort()
    .at(-1);
}

/** A person's message; nothing for bots, edits, notices and what has no text. */
function ofPerson({ type, subtype, ts, user, bot_id: bot, text, thread_ts: thread }: Message): ChatMessage[] {
  if (type !== 'message' || bot !== undefined || user === undefined || user === SLACKBOT) return [];
  if (!MESSAGE_SUBTYPES.has(subtype) || text === '') return [];
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
