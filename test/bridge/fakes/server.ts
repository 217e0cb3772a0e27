import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { freePorts } from '../../../src/dev/ports.ts';

/** What goes wrong with one call that posts. */
export type Fault =
  /** Refused for now, with or without saying how long. */
  | { readonly kind: 'rate-limited'; readonly retryAfterMs?: number }
  /** An error of the service; the post was taken or not. */
  | { readonly kind: 'error'; readonly status: 500 | 502 | 503; readonly taken: boolean }
  /** Nobody ever answers; the post was taken or not. */
  | { readonly kind: 'silence'; readonly taken: boolean }
  /** The connection breaks; the post was taken or not. */
  | { readonly kind: 'drop'; readonly taken: boolean }
  /** The answer takes so long, in milliseconds. */
  | { readonly kind: 'slow'; readonly ms: number };

/** A post as it stands in the chat. */
export interface FakePost {
  readonly id: string;
  /** As a reader of the chat sees it. */
  readonly text: string;
  readonly author: string;
  readonly thread?: string;
  /** How many people it would ping, by the service's rules. */
  readonly pings: number;
}

export interface Call {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly headers?: { readonly [name: string]: string };
  readonly body: unknown;
}

/** What the conformance suite needs of the fake of a service; one room, one bot, some people. */
export interface FakeChat {
  /** The bot's id. */
  readonly me: string;
  /** Everything in the room, in its order. */
  readonly posts: readonly FakePost[];
  /** Calls that tried to post, whatever came of them. */
  readonly attempts: number;
  /** The faults of the next calls that post, one each. */
  readonly faults: Fault[];
  /** A person writes; returns the message's id. */
  says(author: string, text: string, thread?: string): string;
  /** Another bot writes, marked as the service marks bots. */
  botSays(text: string): string;
  /** From now on the token of the bot is wrong. */
  revoke(): void;
  /** Nobody listens any more, until `up`. */
  down(): Promise<void>;
  up(): Promise<void>;
  stop(): Promise<void>;
}

/** An HTTP server on loopback that fails as a test asks: what the fakes of all services share. */
export abstract class FakeServer implements FakeChat {
  abstract readonly me: string;
  readonly posts: FakePost[] = [];
  readonly faults: Fault[] = [];
  attempts = 0;
  /** False: what the service keeps of a key only for a while, it has forgotten already. */
  remembers = true;
  protected revoked = false;
  #server: Server | undefined;
  #port = 0;

  /** The service's answer to a call, and what it does. */
  protected abstract handle(call: Call): Answer | Promise<Answer>;
  /** Whether a call posts: faults are for these alone. */
  protected abstract isPost(call: Call): boolean;
  /** How the service refuses for now. */
  protected abstract tooMany(retryAfterMs: number | undefined): Answer;
  abstract says(author: string, text: string, thread?: string): string;
  abstract botSays(text: string): string;

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  revoke(): void {
    this.revoked = true;
  }

  async up(): Promise<void> {
    const server = createServer((request, response) => void this.#serve(request, response));
    this.#server = server;
    // Not one of the system's: it must be free again when the fake comes back.
    if (this.#port === 0) [this.#port = 0] = await freePorts(1, '127.0.0.1');
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
  }

  async down(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#server = undefined;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  }

  async stop(): Promise<void> {
    await this.down();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      // Whoever asked was killed, or cut off, in the middle of it.
      return;
    }
    const call: Call = {
      method: request.method ?? '',
      url: new URL(request.url ?? '/', this.url),
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    };
    if (!this.isPost(call)) return send(response, await this.handle(call));
    this.attempts += 1;
    const fault = this.faults.shift();
    switch (fault?.kind) {
      case undefined:
        return send(response, await this.handle(call));
      case 'rate-limited':
        return send(response, this.tooMany(fault.retryAfterMs));
      case 'error':
        if (fault.taken) await this.handle(call);
        return send(response, { status: fault.status, body: { error: 'the service has failed' } });
      case 'silence':
        if (fault.taken) await this.handle(call);
        return;
      case 'drop':
        if (fault.taken) await this.handle(call);
        response.destroy();
        return;
      case 'slow':
        await new Promise((resolve) => setTimeout(resolve, fault.ms));
        return send(response, await this.handle(call));
    }
  }
}

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}
