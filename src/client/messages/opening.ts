import type { Target } from '../../envelope/address.ts';
import type { Base, Envelope } from '../../envelope/envelope.ts';
import { explain, parseErrors, SynodError } from '../../envelope/refusal.ts';
import { seconds } from '../../envelope/fields.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';
import { backoff, pause } from '../timing/timing.ts';

const lingerSeconds = seconds({ zero: true });

/**
 * The configuration of something that answers for so many seconds after it has ended; undefined for the default.
 * @throws SynodError `invalid_envelope` where it is no duration.
 */
export function lingering(value: number | undefined): Target['config'] {
  if (value === undefined) return undefined;
  const parsed = lingerSeconds.safeParse(value, parseErrors);
  if (!parsed.success) throw new SynodError('invalid_envelope', explain(parsed.error, 'lingerSeconds'));
  return { linger_seconds: parsed.data };
}

/**
 * Sends what opens a task, proposal or barrier. Where somebody else's message has started its workflow without opening it, that
 * answers `closed` for a minute and then ends: this waits for it and sends the same again.
 * @param signal gives it up.
 */
export async function sendOpening(
  connection: SharedConnection,
  target: Target,
  message: Base,
  signal?: AbortSignal,
): Promise<Envelope[]> {
  for (let attempt = 0; ; attempt++) {
    const answers = await connection.send(target, message, signal);
    const [answer] = answers;
    if (answer?.type !== 'error' || answer['code'] !== 'closed') return answers;
    if (!(await isUnopened(connection, target, signal))) return answers;
    await pause(backoff(attempt, true), signal);
    signal?.throwIfAborted();
  }
}

/** Whether a workflow was started by a message that does not open it. */
async function isUnopened(connection: SharedConnection, target: Target, signal?: AbortSignal): Promise<boolean> {
  const view = await connection.view(target.workflowId, undefined, signal);
  return view?.['status'] === 'unopened';
}
