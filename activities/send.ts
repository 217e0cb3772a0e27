import { ApplicationFailure, Context } from '@temporalio/activity';
import { Channel } from '../src/client/connection/channel.ts';
import { TemporalTransport } from '../src/client/transport/temporalTransport.ts';
import type { SendInput } from '../src/envelope/activities.ts';
import type { Envelope } from '../src/envelope/envelope.ts';
import { SynodError } from '../src/envelope/refusal.ts';

/**
 * The activity by which a user's workflow opens a primitive, or reaches one that no signal can: it starts what does not
 * run, on the task queue that it runs on itself, and reads the result of what has ended. A repeat changes nothing: the
 * message keeps its identity.
 * @throws ApplicationFailure, not to be retried, with the wire's code as its type.
 */
export async function synodSend({ target, message }: SendInput): Promise<Envelope[]> {
  const { client, info, cancellationSignal } = Context.current();
  const transport = new TemporalTransport(client, info.taskQueue);
  const channel = new Channel(transport, target, cancellationSignal, () => undefined);
  try {
    return await channel.send(message);
  } catch (error) {
    if (error instanceof SynodError) throw ApplicationFailure.nonRetryable(error.message, error.code);
    throw error;
  }
}
