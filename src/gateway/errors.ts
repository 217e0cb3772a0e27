import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Envelope } from '../envelope/envelope.ts';
import { SynodError, type RefusalCode } from '../envelope/refusal.ts';

/** Codes of the gateway's own, beside those of the wire contract. */
export type GatewayCode = 'rate_limited' | 'unavailable' | 'internal' | 'method_not_allowed';

/** The status for each code: the one place where they meet. Without a usable token it is 401, with the wrong one 403. */
export const STATUS = {
  invalid_envelope: 400,
  unauthorized: 403,
  not_eligible: 403,
  unknown: 404,
  method_not_allowed: 405,
  idempotency_conflict: 409,
  not_holder: 409,
  stale_token: 409,
  stale_epoch: 409,
  already_decided: 409,
  already_voted: 409,
  held: 409,
  closed: 410,
  expired: 410,
  over_limit: 413,
  hops_exhausted: 422,
  rate_limited: 429,
  internal: 500,
  draining: 503,
  unavailable: 503,
} as const satisfies Record<RefusalCode | GatewayCode, ContentfulStatusCode>;

/** What an answer says of what went wrong. */
export interface ErrorBody {
  readonly error: { readonly code: string; readonly message: string; readonly field?: string };
  /** The id of the message that was refused, where one was sent. */
  readonly id?: string;
  readonly replies?: readonly Envelope[];
}

/** Thrown anywhere in the gateway to end a request with an error. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: RefusalCode | GatewayCode;
  readonly status: ContentfulStatusCode;
  readonly headers: Readonly<Record<string, string>>;
  readonly more: Omit<ErrorBody, 'error'>;

  constructor(
    code: RefusalCode | GatewayCode,
    message: string,
    options: {
      status?: ContentfulStatusCode;
      headers?: Readonly<Record<string, string>>;
      more?: Omit<ErrorBody, 'error'>;
      /** What has failed inside; for the log alone. */
      cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.status = options.status ?? STATUS[code];
    this.headers = options.headers ?? {};
    this.more = options.more ?? {};
  }

  get body(): ErrorBody {
    const field = this.code === 'invalid_envelope' ? fieldOf(this.message) : undefined;
    return {
      error: { code: this.code, message: this.message, ...(field === undefined ? {} : { field }) },
      ...this.more,
    };
  }
}

/** A refusal's sentence starts with the name of the field. */
function fieldOf(message: string): string | undefined {
  return /^([a-z_][a-z0-9_]*(?:\[\d+\]|\.[^\s.]+)*) /.exec(message)?.[1];
}

/** Anything that was thrown, as the caller's answer. What is not a refusal shows nothing of the inside. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof SynodError) return new Problem(error.code, error.message.slice(error.code.length + 2));
  return new Problem('internal', 'the gateway has failed; its log says why');
}

/** A failure that can be repeated: it is not known whether what was asked for was done. With the seconds to wait. */
export function unavailable(message: string, more: Omit<ErrorBody, 'error'> = {}, cause?: unknown): Problem {
  return new Problem('unavailable', message, { headers: { 'retry-after': '1' }, more, cause });
}

/** To be sent again: this gateway is ending. */
export function closingProblem(): Problem {
  return unavailable('the gateway is closing: send the same again');
}
