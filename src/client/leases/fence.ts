import { SynodError } from '../../envelope/refusal.ts';

/**
 * The check that makes a lease safe: a resource refuses whoever comes with an older fencing token than it has seen.
 * Call it where the resource is written, in the same transaction, and store what it returns beside the data.
 *
 * @param seen the highest token that the resource has accepted; undefined before the first.
 * @param token the writer's: `attempt` of a task, a lock's token, an epoch.
 * @returns the token to store.
 * @throws SynodError `stale_token` where a newer holder has already written.
 * @example
 * const row = await tx.get('report');
 * const token = checkToken(row?.token, work.token);
 * await tx.put('report', { ...report, token });
 */
export function checkToken(seen: number | undefined, token: number): number {
  if (!Number.isSafeInteger(token) || token < 1)
    throw new SynodError('invalid_envelope', `token must be a whole number >= 1, not ${token}`);
  if (seen !== undefined && token < seen)
    throw new SynodError('stale_token', `token ${token} is older than ${seen}, which has already written`);
  return token;
}
