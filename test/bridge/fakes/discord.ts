import { FakeServer, type Answer, type Call } from './server.ts';

interface Message {
  readonly id: string;
  readonly type: number;
  readonly content: string;
  readonly author: { readonly id: string; readonly bot?: boolean };
  readonly webhook_id?: string;
  readonly message_reference?: { readonly message_id: string };
}

interface Create {
  readonly content?: string;
  readonly nonce?: string | number;
  readonly enforce_nonce?: boolean;
  readonly allowed_mentions?: { readonly parse?: string[]; readonly replied_user?: boolean };
  readonly flags?: number;
  readonly message_reference?: { readonly message_id: string; readonly fail_if_not_exists?: boolean };
}

const DEFAULT = 0;
const REPLY = 19;

/**
 * Discord with one channel, as far as a bridge needs it, version 10.
 * https://discord.com/developers/docs/resources/message
 */
export class FakeDiscord extends FakeServer {
  readonly channel = '112233445566778899';
  readonly me = '223344556677889900';
  token = 'a-token';
  /** What the bot may do in the channel. */
  readonly permissions = new Set(['VIEW_CHANNEL', 'SEND_MESSAGES', 'READ_MESSAGE_HISTORY']);
  /** Refusals for now are for all calls of the bot. */
  global = false;
  /** Posts that may still be made until the bucket resets, in a minute; unlimited where absent. */
  remaining: number | undefined;
  /** The server's automatic moderation blocks a post that holds this. */
  blocked: string | undefined;
  /** What each post has asked for. */
  readonly created: Create[] = [];
  readonly #messages: Message[] = [];
  readonly #nonces = new Map<string, Message>();

  /** Nonces are kept for a few minutes: these have passed. */
  forgetNonces(): void {
    this.#nonces.clear();
  }

  protected isPost({ method, url }: Call): boolean {
    return method === 'POST' && url.pathname.endsWith('/messages');
  }

  // https://discord.com/developers/docs/topics/rate-limits#exceeding-a-rate-limit
  protected tooMany(retryAfterMs: number | undefined): Answer {
    const seconds = (retryAfterMs ?? 0) / 1000;
    return {
      status: 429,
      headers: {
        ...(retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(seconds)) }),
        ...(this.global ? { 'x-ratelimit-global': 'true' } : {}),
        'x-ratelimit-scope': this.global ? 'global' : 'user',
      },
      body: { message: 'You are being rate limited.', retry_after: seconds, global: this.global },
    };
  }

  says(author: string, text: string, thread?: string): string {
    return this.#append({
      content: text,
      author: { id: author },
      type: thread === undefined ? DEFAULT : REPLY,
      ...(thread === undefined ? {} : { message_reference: { message_id: thread } }),
    });
  }

  botSays(text: string): string {
    return this.#append({ content: text, type: DEFAULT, author: { id: '334455667788990011', bot: true } });
  }

  /** Something that is no message of a person: a webhook's post, somebody's joining, a picture without words. */
  event(fields: Partial<Message>): string {
    return this.#append({ content: '', type: DEFAULT, author: { id: '445566778899001122' }, ...fields });
  }

  protected handle({ method, url, headers, body }: Call): Answer {
    // https://discord.com/developers/docs/reference#authentication
    if (this.revoked || headers.authorization !== `Bot ${this.token}`) return refuse(401, 0, '401: Unauthorized');
    if (method === 'GET' && url.pathname === '/api/v10/users/@me') {
      return { status: 200, body: { id: this.me, username: 'synod', bot: true } };
    }
    const [, channel, rest] = /^\/api\/v10\/channels\/(\d+)(\/messages)?$/.exec(url.pathname) ?? [];
    if (channel === undefined) return refuse(404, 0, '404: Not Found');
    if (channel !== this.channel) return refuse(404, 10003, 'Unknown Channel');
    if (!this.permissions.has('VIEW_CHANNEL')) return refuse(403, 50001, 'Missing Access');
    // https://discord.com/developers/docs/resources/channel#channel-object
    if (rest === undefined)
      return { status: 200, body: { id: channel, type: 0, last_message_id: this.#messages.at(-1)?.id ?? null } };
    return method === 'POST' ? this.#create(body) : this.#list(url.searchParams);
  }

  // https://discord.com/developers/docs/resources/message#create-message
  #create(body: string): Answer {
    if (!this.permissions.has('SEND_MESSAGES')) return refuse(403, 50013, 'Missing Permissions');
    const asked = JSON.parse(body) as Create;
    const { content = '', nonce, message_reference: to } = asked;
    if (content.trim() === '') return refuse(400, 50006, 'Cannot send an empty message');
    if (content.length > 2_000) return invalid('content', 'BASE_TYPE_MAX_LENGTH', 'Must be 2000 or fewer in length.');
    if (String(nonce ?? '').length > 25)
      return invalid('nonce', 'BASE_TYPE_MAX_LENGTH', 'Must be 25 or fewer in length.');
    if (this.blocked !== undefined && content.includes(this.blocked)) {
      return refuse(400, 200000, 'Message was blocked by automatic moderation');
    }
    const known = this.#messages.some(({ id }) => id === to?.message_id);
    if (to && !known && to.fail_if_not_exists !== false) {
      return invalid('message_reference', 'REPLIES_UNKNOWN_MESSAGE', 'Unknown message');
    }
    const first = asked.enforce_nonce === true && this.remembers ? this.#nonces.get(String(nonce)) : undefined;
    if (first) return { status: 200, headers: this.#limits(), body: { ...first, nonce } };
    this.created.push(asked);
    const id = this.#append(
      {
        // Spaces around a text are dropped.
        content: content.trim(),
        type: to && known ? REPLY : DEFAULT,
        author: { id: this.me, bot: true },
        ...(to && known ? { message_reference: { message_id: to.message_id } } : {}),
      },
      asked,
    );
    const message = this.#messages.at(-1);
    if (nonce !== undefined && message) this.#nonces.set(String(nonce), message);
    return { status: 200, headers: this.#limits(), body: { ...message, id, nonce } };
  }

  // https://discord.com/developers/docs/resources/message#get-channel-messages: the newest first, and without their nonces.
  #list(query: URLSearchParams): Answer {
    const limit = Number(query.get('limit') ?? 50);
    if (!(limit >= 1 && limit <= 100)) return invalid('limit', 'NUMBER_TYPE_MAX', 'int value should be from 1 to 100.');
    // "no messages will be returned" without that permission.
    if (!this.permissions.has('READ_MESSAGE_HISTORY')) return { status: 200, body: [] };
    const after = query.get('after');
    const before = query.get('before');
    const older = before === null ? this.#messages : this.#messages.filter(({ id }) => BigInt(id) < BigInt(before));
    const found =
      after === null
        ? older.slice(-limit)
        : this.#messages.filter(({ id }) => BigInt(id) > BigInt(after)).slice(0, limit);
    return { status: 200, body: found.toReversed() };
  }

  // https://discord.com/developers/docs/topics/rate-limits#header-format
  #limits(): { [name: string]: string } {
    if (this.remaining === undefined) return {};
    this.remaining -= 1;
    return {
      'x-ratelimit-limit': '5',
      'x-ratelimit-remaining': String(this.remaining),
      'x-ratelimit-reset-after': '60',
      'x-ratelimit-bucket': 'abcd1234',
    };
  }

  #append(fields: Omit<Message, 'id'>, asked: Create = {}): string {
    const id = String(1_300_000_000_000_000_000n + BigInt(this.#messages.length + 1) * 4_194_304n);
    this.#messages.push({ id, ...fields });
    const ours = fields.author.id === this.me;
    this.posts.push({
      id,
      author: fields.author.id,
      text: ours ? shown(fields.content) : fields.content,
      pings: ours ? pingsOf(fields.content, asked) : 0,
      ...(fields.message_reference ? { thread: fields.message_reference.message_id } : {}),
    });
    return id;
  }
}

/** https://discord.com/developers/docs/resources/message#allowed-mentions-object: without it, everything pings. */
function pingsOf(content: string, { allowed_mentions: allowed, message_reference: to }: Create): number {
  const mentions = content.match(/@everyone|@here|<@[!&]?\d+>/g)?.length ?? 0;
  const replied = to && allowed?.replied_user === true ? 1 : 0;
  return (allowed === undefined || (allowed.parse ?? []).length > 0 ? mentions : 0) + replied;
}

const FENCE = '```[^]*?```';
const LINK = String.raw`https?:\/\/[^\s<]+[^<.,:;"'\]\s]`;
const MARKUP = new RegExp(
  [
    String.raw`\\([^0-9A-Za-z\s])`,
    `(${FENCE}|${LINK})`,
    String.raw`\[([^\]]+)\]\([^)]+\)`,
    String.raw`\*\*(.+?)\*\*`,
    String.raw`__(.+?)__`,
    String.raw`[*_](.+?)[*_]`,
    String.raw`~~(.+?)~~`,
    String.raw`\|\|(.+?)\|\|`,
    '`(.+?)`',
    String.raw`^(?:#{1,3}|-#|>{1,3}|[-*+]|\d+\.) (.*)`,
  ].join('|'),
  'gm',
);

/** What a reader sees of a text with markup: https://support.discord.com/hc/en-us/articles/210298617 */
export function shown(content: string): string {
  return content.replace(MARKUP, pick);
}

function pick(_: string, ...groups: unknown[]): string {
  const found = groups.slice(0, 10).find((group) => typeof group === 'string');
  return typeof found === 'string' ? found : '';
}

// https://discord.com/developers/docs/reference#error-messages
function refuse(status: number, code: number, message: string): Answer {
  return { status, body: { message, code } };
}

function invalid(field: string, code: string, message: string): Answer {
  const errors = { [field]: { _errors: [{ code, message }] } };
  return { status: 400, body: { code: 50035, message: 'Invalid Form Body', errors } };
}
