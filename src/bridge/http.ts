import { ChatError } from './adapter.ts';

/** How long a chat service may take to answer, in milliseconds; after that the outcome is not known. */
export const CALL_TIMEOUT_MS = 15_000;

/** What has failed before a byte of the request was taken. */
const NOT_REACHED: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

export interface ChatCall {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Default {@link CALL_TIMEOUT_MS}. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ChatAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON; undefined where it is none. */
  readonly body: unknown;
}

/**
 * One HTTP call, never repeated, whatever its status. Redirects are refused: they would carry the token elsewhere.
 * @throws ChatError `unavailable` or `ambiguous` where no answer came; the signal's reason where it has fired.
 */
export async function callChat({ method, url, headers, body, timeoutMs, signal }: ChatCall): Promise<ChatAnswer> {
  const timeout = AbortSignal.timeout(timeoutMs ?? CALL_TIMEOUT_MS);
  try {
    const response = await fetch(url, {
      method,
      headers: { accept: 'application/json', ...(body === undefined ? {} : JSON_BODY), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: parsed(text) };
  } catch (error) {
    signal?.throwIfAborted();
    throw connectionFault(error);
  }
}

const JSON_BODY = { 'content-type': 'application/json' };

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** What it means that a call ended without an answer: `unavailable` where nobody was reached, else `ambiguous`. */
export function connectionFault(error: unknown): ChatError {
  const causes: unknown[] = [];
  for (let e: unknown = error; e instanceof Error && causes.length < 8; e = e.cause) causes.push(e);
  const reached = !causes.some((e) => e instanceof Error && 'code' in e && NOT_REACHED.has(e.code));
  const last = causes.at(-1);
  const why = last instanceof Error ? last.message || last.name : String(error);
  return reached
    ? new ChatError('ambiguous', `no answer from the chat service: ${why}`, { cause: error })
    : new ChatError('unavailable', `the chat service cannot be reached: ${why}`, { cause: error });
}

/** The header `Retry-After` (RFC 9110, 10.2.3: seconds, or a date) in milliseconds; undefined where it says nothing. */
export function retryAfterMs(header: string | null | undefined, now: number = Date.now()): number | undefined {
  if (header === null || header === undefined || header.trim() === '') return undefined;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return seconds >= 0 ? Math.ceil(seconds * 1000) : undefined;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
