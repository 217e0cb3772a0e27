import type { z } from 'zod';
import { ChatError } from '../adapter.ts';

/** What an answer holds. @throws ChatError `ambiguous` where it is none of the service's API: it may stand for anything. */
export function readAnswer<T>(schema: z.ZodType<T>, body: unknown, service: string): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new ChatError('ambiguous', `${service} gave an answer that its API does not know`);
}

/**
 * One call of a service's own library, ended after `timeoutMs`.
 * @param faultOf what an error of the library means.
 * @throws ChatError; the signal's reason where it has fired.
 */
export async function timedCall<T>(
  service: string,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
  ask: (signal: AbortSignal) => Promise<T>,
  faultOf: (error: unknown) => ChatError,
): Promise<T> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    return await ask(signal ? AbortSignal.any([signal, timeout]) : timeout);
  } catch (error) {
    signal?.throwIfAborted();
    if (timeout.aborted) throw new ChatError('ambiguous', `no answer from ${service} within ${timeoutMs} ms`);
    throw faultOf(error);
  }
}
