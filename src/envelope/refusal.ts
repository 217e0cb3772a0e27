import type { z } from 'zod';

/** Why a message was refused; the `code` of an `error` envelope and the type of an update's failure. */
export const REFUSAL_CODES = [
  'invalid_envelope',
  'unauthorized',
  'idempotency_conflict',
  'expired',
  'hops_exhausted',
  'not_eligible',
  'not_holder',
  'stale_token',
  'stale_epoch',
  'already_decided',
  'already_voted',
  'closed',
  'unknown',
  'held',
  'over_limit',
  'draining',
] as const;

export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** A refusal: its code, and a sentence that names the field or the holder. */
export interface Refusal {
  readonly code: RefusalCode;
  readonly reason: string;
}

export function refusal(code: RefusalCode, reason: string): Refusal {
  return { code, reason };
}

/** Whether a string is one of the refusal codes. */
export function isRefusalCode(value: unknown): value is RefusalCode {
  return REFUSAL_CODES.some((code) => code === value);
}

/** A refusal thrown on the client's side. `code` is the wire's code, `reason` the sentence; `message` has both. */
export class SynodError extends Error {
  override readonly name = 'SynodError';
  readonly code: RefusalCode;
  readonly reason: string;
  constructor(code: RefusalCode, reason: string, options?: ErrorOptions) {
    super(`${code}: ${reason}`, options);
    this.code = code;
    this.reason = reason;
  }
}

type ParseIssue = Parameters<Exclude<z.core.ParseContext<z.core.$ZodIssue>['error'], undefined>>[0];

/** Sentences for the issues that a schema has no sentence of its own for. */
export const parseErrors = {
  error: (issue: ParseIssue): string | undefined => {
    if (issue.input === undefined) return 'is missing';
    if (issue.code === 'invalid_type') return `must be ${article(issue.expected)}`;
    return undefined;
  },
};

function article(type: string): string {
  return `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`;
}

/** The first fault of a failed parse as one sentence that starts with the field's name. */
export function explain(error: z.ZodError, root = 'envelope'): string {
  const issue = error.issues[0];
  if (!issue) return `${root} is malformed`;
  const path = issue.path
    .map((part, i) => (typeof part === 'number' ? `[${part}]` : i === 0 ? String(part) : `.${String(part)}`))
    .join('');
  return `${path === '' ? root : path} ${issue.message}`;
}
