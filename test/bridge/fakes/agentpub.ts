import { FakeServer, type Answer, type Call } from './server.ts';

type Envelope = Record<string, unknown> & { readonly id: string; readonly from: string };

const MAX_BODY_BYTES = 16_384;

/**
 * One room of AgentPub: `POST` an envelope under an idempotency key, `GET` forward after a message, a bearer token. The answers
 * that its article does not show are as plain as those that it does.
 */
export class FakeAgentpub extends FakeServer {
  readonly room = 'room_9f2';
  readonly me = 'synod-bridge';
  token = 'a-token';
  /** Whether readers are shown the idempotency keys. */
  showsKeys = true;
  /** Lists come bare, or as `messages`. */
  bare = false;
  readonly envelopes: Envelope[] = [];
  readonly #keys = new Map<string, { readonly body: string; readonly id: string }>();

  protected isPost({ method }: Call): boolean {
    return method === 'POST';
  }

  protected tooMany(retryAfterMs: number | undefined): Answer {
    return {
      status: 429,
      headers: retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) },
      body: { error: 'too many requests' },
    };
  }

  says(author: string, text: string, thread?: string): string {
    return this.envelope(author, { type: 'room.post', text, ...(thread === undefined ? {} : { in_reply_to: thread }) });
  }

  botSays(text: string): string {
    return this.envelope('summarizer-2', { type: 'room.post', text });
  }

  /** Somebody sends something. */
  envelope(from: string, fields: Record<string, unknown>): string {
    const id = `msg_${this.envelopes.length + 1}`;
    this.envelopes.push({ ...fields, id, from, ts: new Date().toISOString() });
    const { text, in_reply_to: thread } = fields;
    this.posts.push({
      id,
      author: from,
      text: typeof text === 'string' ? text : '',
      // Nobody is pinged by a text: agents read types.
      pings: 0,
      ...(typeof thread === 'string' ? { thread } : {}),
    });
    return id;
  }

  protected handle({ method, url, headers, body }: Call): Answer {
    if (this.revoked || headers.authorization !== `Bearer ${this.token}`) return refuse(401, 'the token is not known');
    if (url.pathname !== `/v1/rooms/${this.room}/messages`) return refuse(404, 'no such room');
    return method === 'POST' ? this.#post(body) : this.#list(url.searchParams);
  }

  #post(body: string): Answer {
    if (Buffer.byteLength(body) > MAX_BODY_BYTES) return refuse(413, 'the envelope is too large');
    const { type, idempotency_key: key, ...fields } = JSON.parse(body) as Record<string, unknown>;
    if (typeof type !== 'string') return refuse(400, 'type is missing');
    const known = typeof key === 'string' ? this.#keys.get(key) : undefined;
    if (known) {
      return known.body === body
        ? { status: 200, body: { id: known.id } }
        : refuse(409, 'the key was used for another message');
    }
    const id = this.envelope(this.me, { type, ...fields, idempotency_key: key });
    if (typeof key === 'string') this.#keys.set(key, { body, id });
    return { status: 201, body: { id } };
  }

  #list(query: URLSearchParams): Answer {
    const limit = Number(query.get('limit') ?? 50);
    if (!(limit >= 1 && limit <= 200)) return refuse(400, 'limit must be 1 to 200');
    const after = query.get('after');
    const start = after === null ? 0 : this.envelopes.findIndex(({ id }) => id === after) + 1;
    if (after !== null && start === 0) return refuse(400, 'after is no message of this room');
    const found = this.envelopes.slice(start, start + limit).map((one) => {
      const { idempotency_key: key, ...rest } = one;
      return this.showsKeys && key !== undefined ? { ...rest, idempotency_key: key } : rest;
    });
    return { status: 200, body: this.bare ? found : { messages: found } };
  }
}

function refuse(status: number, error: string): Answer {
  return { status, body: { error } };
}
