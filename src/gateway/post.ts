import type { Envelope } from '../envelope/envelope.ts';
import { withPatience, type Services } from './context.ts';
import { Problem, STATUS, problemOf, unavailable } from './errors.ts';
import { incoming } from './incoming.ts';
import { lockRoute } from './lockRoute.ts';
import type { StoredToken } from './tokens.ts';
import { isRefusalCode } from '../envelope/refusal.ts';

export interface Posted {
  readonly id: string;
  readonly seq?: number;
  readonly replies: Envelope[];
}

/**
 * Sends one message of an agent to the workflow that it is for.
 * @throws Problem for whatever is not accepted; a refusal by the workflow has its replies with it.
 */
export async function post(services: Services, room: string, token: StoredToken, raw: unknown): Promise<Posted> {
  const { connection, metrics, feeds } = services;
  const { message, target: plainly, lock } = incoming(raw, room, token);
  const { id } = message;
  const late = () => {
    metrics.messages.inc({ outcome: 'unknown' });
    return unavailable(
      'no answer in time, and it is not known whether it was done: send it again with the same id or idempotency_key',
      { id },
    );
  };
  let target = plainly;
  let replies: Envelope[];
  try {
    if (lock) target = await withPatience(async () => await lockRoute(connection, room, lock), late);
    const to = target;
    replies = await withPatience(async (givenUp) => await connection.send(to, message, givenUp), late);
  } catch (error) {
    const { code, message: sentence, headers, status } = problemOf(error);
    if (code === 'internal') throw error;
    throw new Problem(code, sentence, { headers, status, more: { id } });
  }
  const [first] = replies;
  const seqs = replies.flatMap(({ seq }) => (seq === undefined ? [] : [seq]));
  const feed = feeds.known(target.workflowId);
  for (const seq of seqs) feed?.expect(seq);
  metrics.messages.inc({ outcome: first?.type === 'error' ? 'refused' : 'accepted' });
  if (first?.type === 'error') throw refusedBy(first, id, replies);
  return { id, ...(seqs[0] === undefined ? {} : { seq: seqs[0] }), replies };
}

function refusedBy(first: Envelope, id: string, replies: readonly Envelope[]): Problem {
  const { code, reason } = first;
  const sentence = typeof reason === 'string' ? reason : 'refused';
  return isRefusalCode(code)
    ? new Problem(code, sentence, { status: STATUS[code], more: { id, replies } })
    : new Problem('internal', sentence, { more: { id, replies } });
}
