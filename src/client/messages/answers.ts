import { z } from 'zod';
import type { Envelope } from '../../envelope/envelope.ts';
import { SynodError, type RefusalCode } from '../../envelope/refusal.ts';

/**
 * The replies, or the first of them thrown where it is a refusal.
 * @param about the task, proposal or phase that was named: a refusal names the key of the message, and not always that.
 */
export function accepted(answers: readonly Envelope[], about?: string): readonly Envelope[] {
  const [first] = answers;
  if (first?.type === 'error') throw asError(first, about);
  return answers;
}

const errorEnvelope = z.object({
  code: z.custom<SynodError['code']>((value) => typeof value === 'string'),
  reason: z.string(),
});

/** A refusal as an error to throw. */
export function asError(envelope: Envelope, about?: string): SynodError {
  const { code, reason } = errorEnvelope.parse(envelope);
  return new SynodError(code, about === undefined ? reason : `${about}: ${reason}`);
}

/** The code and reason of a refusal. */
export function refusalOf(envelope: Envelope | undefined): z.infer<typeof errorEnvelope> {
  return errorEnvelope.parse(envelope);
}

/** Whether a reply is a refusal with one of some codes. */
export function isRefusedWith(envelope: Envelope | undefined, ...codes: readonly RefusalCode[]): boolean {
  const refused = errorEnvelope.safeParse(envelope);
  return envelope?.type === 'error' && refused.success && codes.includes(refused.data.code);
}

/** What a reply that is not the expected one says: its code and reason, or its type. */
export function reasonOf(envelope: Envelope | undefined): string {
  const refused = errorEnvelope.safeParse(envelope);
  return refused.success ? `${refused.data.code}: ${refused.data.reason}` : (envelope?.type ?? 'no answer');
}
