import * as wf from '@temporalio/workflow';
import type { Target } from '../envelope/address.ts';
import type { Base, Envelope } from '../envelope/envelope.ts';
import { refusalIn, refused } from './errors.ts';
import { inbox } from './inbox.ts';
import { request } from './send.ts';
import type { Sender } from './sender.ts';

/** After so long without the outcome its primitive is asked, in case the signal was lost; then after twice as long, and so on. */
const FIRST_PAUSE_MS = 60_000;
const MAX_PAUSE_MS = 3_600_000;

/** Something that was opened and comes to one end. */
export interface Opened<Outcome> {
  /** Resolves to how it ended. Cancelling the wait leaves it open; it can be waited for again. */
  readonly outcome: () => Promise<Outcome>;
}

/**
 * Opens a task, a proposal or a barrier. The same opening again, from this run or a later one, is the same task: it resolves to
 * what became of it, also after it has ended.
 * @param messages the opening, and what belongs to it.
 * @param read what an envelope of it says of its end; undefined where it says nothing of that.
 * @throws ApplicationFailure with the code of the refusal, such as `idempotency_conflict`.
 */
export async function open<Outcome extends object>(
  sender: Sender,
  target: Target,
  messages: readonly [Base, ...Base[]],
  read: (envelope: Envelope) => Outcome | undefined,
): Promise<Opened<Outcome>> {
  const [opening, ...others] = messages;
  let outcome: Outcome | undefined;
  const stop = inbox().listen(target.workflowId, (envelope) => {
    outcome ??= read(envelope);
    if (outcome) stop();
  });
  const ask = async (message: Base): Promise<void> => {
    const [first] = await request(sender, target, message);
    const refusal = refusalIn(first);
    // What was opened before, in parts, may have come to its end.
    if (refusal && (message === opening || !outcome)) throw refused(refusal);
  };
  try {
    await ask(opening);
    for (const message of others) await ask(message);
  } catch (error) {
    stop();
    throw error;
  }
  const summary = `waits for the end of ${target.workflowId}`;
  return {
    outcome: async () => {
      for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
        await wf.condition(() => outcome !== undefined, pause, { summary });
        if (outcome) return outcome;
        await ask(opening);
      }
    },
  };
}
