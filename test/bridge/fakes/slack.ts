import { FakeServer, type Answer, type Call } from './server.ts';

interface Message {
  readonly type: 'message';
  readonly subtype?: string;
  readonly ts: string;
  readonly user?: string;
  readonly bot_id?: string;
  readonly text: string;
  readonly thread_ts?: string;
  readonly metadata?: unknown;
}

/** https://docs.slack.dev/reference/methods: what each method needs of a bot's token, in a public channel. */
const SCOPES: { readonly [method: string]: string | undefined } = {
  'chat.postMessage': 'chat:write',
  'conversations.history': 'channels:history',
  'conversations.replies': 'channels:history',
};

/** A workspace of Slack with one channel, as far as a bridge needs it. https://docs.slack.dev/reference/methods */
export class FakeSlack extends FakeServer {
  readonly channel = 'C0123456789';
  readonly me = 'U0SYNODBOT1';
  token = 'xoxb-a-token';
  readonly scopes = new Set(['chat:write', 'channels:history']);
  /** The bot has been invited to the channel. */
  invited = true;
  /** How many messages one page has at most: 15 for some apps (https://docs.slack.dev/changelog/2025/05/29/tos-updates). */
  maxPage = 999;
  /** The next call that posts answers so, with status 200, after the post was taken. */
  failure: string | undefined;
  /** What each post has asked for. */
  readonly asked: { [name: string]: string }[] = [];
  /** What happens just before the next call of a method is answered. */
  readonly meanwhile = new Map<string, () => void>();
  /** Every call, by its method. */
  readonly calls: string[] = [];
  readonly #messages: Message[] = [];

  protected isPost({ url }: Call): boolean {
    return url.pathname === '/api/chat.postMessage';
  }

  // https://docs.slack.dev/apis/web-api/rate-limits
  protected tooMany(retryAfterMs: number | undefined): Answer {
    return {
      status: 429,
      headers: retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) },
      body: { ok: false, error: 'ratelimited' },
    };
  }

  says(author: string, text: string, thread?: string): string {
    const typed = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    return this.event({ user: author, text: typed, ...(thread === undefined ? {} : { thread_ts: thread }) });
  }

  botSays(text: string): string {
    return this.event({ user: 'U0OTHERBOT1', bot_id: 'B0OTHERBOT1', text });
  }

  /** Something as Slack stores it. */
  event(fields: Partial<Message>): string {
    return this.#append({ text: '', ...fields }, {});
  }

  /** Somebody deletes a message. */
  remove(ts: string): void {
    this.#messages.splice(
      this.#messages.findIndex((one) => one.ts === ts),
      1,
    );
  }

  protected handle({ method, url, headers, body }: Call): Answer {
    const name = url.pathname.replace('/api/', '');
    this.calls.push(name);
    this.meanwhile.get(name)?.();
    this.meanwhile.delete(name);
    if (method !== 'POST') return failed('invalid_post_type');
    if (headers.authorization === undefined) return failed('not_authed');
    if (this.revoked || headers.authorization !== `Bearer ${this.token}`) return failed('invalid_auth');
    const scope = SCOPES[name];
    if (scope !== undefined && !this.scopes.has(scope)) {
      return failed('missing_scope', { needed: scope, provided: [...this.scopes].join(',') });
    }
    const args = Object.fromEntries(new URLSearchParams(body));
    if (name === 'auth.test') return ok({ user_id: this.me, bot_id: 'B0SYNODBOT1', team_id: 'T0123456789' });
    if (args['channel'] !== this.channel) return failed('channel_not_found');
    if (!this.invited) return failed('not_in_channel');
    if (name === 'chat.postMessage') return this.#post(args);
    if (name === 'conversations.history') return this.#history(args);
    if (name === 'conversations.replies') return this.#replies(args);
    return failed('unknown_method');
  }

  // https://docs.slack.dev/reference/methods/chat.postMessage
  #post(args: { [name: string]: string }): Answer {
    const { text = '', thread_ts: thread, metadata } = args;
    if (text === '') return failed('no_text');
    const parsed = metadata === undefined ? undefined : (JSON.parse(metadata) as Record<string, unknown>);
    const { event_type: type, event_payload: payload } = parsed ?? {};
    if (parsed && (typeof type !== 'string' || !/^[\w.]+$/.test(type) || typeof payload !== 'object')) {
      return failed('invalid_metadata_format');
    }
    this.asked.push(args);
    const ts = this.#append(
      {
        user: this.me,
        bot_id: 'B0SYNODBOT1',
        // https://docs.slack.dev/reference/methods/chat.postMessage#truncating
        text: text.slice(0, 40_000),
        ...(thread === undefined ? {} : { thread_ts: thread }),
        ...(parsed ? { metadata: parsed } : {}),
      },
      args,
    );
    const { failure } = this;
    this.failure = undefined;
    if (failure !== undefined) return failed(failure);
    return ok({ channel: this.channel, ts, message: this.#messages.at(-1) });
  }

  // https://docs.slack.dev/reference/methods/conversations.history: the newest first; of a thread, its first message alone.
  #history(args: { [name: string]: string }): Answer {
    const roots = this.#messages.filter(
      ({ ts, thread_ts: thread, subtype }) => thread === undefined || thread === ts || subtype === 'thread_broadcast',
    );
    return this.#page(roots.toReversed(), args);
  }

  // https://docs.slack.dev/reference/methods/conversations.replies: the oldest first, after the message that began it.
  #replies(args: { [name: string]: string }): Answer {
    const { ts: thread, oldest = '0' } = args;
    const root = this.#messages.find(({ ts }) => ts === thread);
    if (!root) return failed('thread_not_found');
    const found = this.#messages.filter(({ ts, thread_ts: t }) => t === thread && ts !== thread && ts > oldest);
    return this.#page([root, ...found], { ...args, oldest: '0' });
  }

  // https://docs.slack.dev/apis/web-api/pagination
  #page(all: readonly Message[], args: { [name: string]: string }): Answer {
    const { limit = '100', cursor, oldest = '0', include_all_metadata: withMetadata } = args;
    if (!(Number(limit) >= 1 && Number(limit) < 1_000)) return failed('invalid_limit');
    const found = all.filter(({ ts }) => ts > oldest);
    const start = cursor === undefined ? 0 : Number(Buffer.from(cursor, 'base64').toString());
    const end = start + Math.min(Number(limit), this.maxPage);
    const messages = found.slice(start, end).map((one) => this.#read(one, withMetadata === 'true'));
    const next = end < found.length ? Buffer.from(String(end)).toString('base64') : '';
    return ok({ messages, has_more: next !== '', response_metadata: { next_cursor: next } });
  }

  #read({ metadata, ...one }: Message, withMetadata: boolean): object {
    const replies = this.#messages.filter(({ ts, thread_ts: thread }) => thread === one.ts && ts !== one.ts);
    const latest = replies.at(-1)?.ts;
    return {
      ...one,
      ...(withMetadata && metadata !== undefined ? { metadata } : {}),
      ...(latest === undefined ? {} : { thread_ts: one.ts, reply_count: replies.length, latest_reply: latest }),
    };
  }

  #append(fields: Partial<Message>, args: { [name: string]: string }): string {
    const count = this.posts.length + 1;
    const ts = `${1_700_000_000 + count}.${String(count % 1_000_000).padStart(6, '0')}`;
    const { text = '', user = '', thread_ts: thread } = fields;
    this.#messages.push({ type: 'message', text, ...fields, ts });
    const ours = user === this.me;
    this.posts.push({
      id: ts,
      author: user,
      text: shown(text, args['mrkdwn'] !== 'false' && ours),
      pings: ours ? pingsOf(text, args) : 0,
      ...(thread === undefined ? {} : { thread }),
    });
    return ts;
  }
}

/** https://docs.slack.dev/messaging/formatting-message-text: mentions count whether there is markup or not. */
function pingsOf(text: string, { parse, link_names: names }: { [name: string]: string }): number {
  const marked = text.match(/<(?:!(?:channel|here|everyone)|@[A-Z0-9]+|!subteam)[^>]*>/g)?.length ?? 0;
  const named = parse === 'full' || names === 'true' || names === '1' ? (text.match(/@\w+/g)?.length ?? 0) : 0;
  return marked + named;
}

/** What a reader sees. */
function shown(text: string, markup: boolean): string {
  const links = text.replace(
    /<[@#!]?([^<>|]*)(?:\|([^<>]*))?>/g,
    (_, target: string, label?: string) => label ?? target,
  );
  const styled = markup
    ? links
        .replace(/```([^]*?)```/g, '$1')
        .replace(/([*_~`])(\S(?:.*?\S)?)\1/g, '$2')
        .replace(/^&gt; ?/gm, '')
    : links;
  return styled.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

function ok(fields: object): Answer {
  return { status: 200, body: { ok: true, ...fields } };
}

function failed(error: string, fields: object = {}): Answer {
  return { status: 200, body: { ok: false, error, ...fields } };
}
