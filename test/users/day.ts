import * as wf from '@temporalio/workflow';
import { announceTask, decide, openBarrier, withLock, withPermit } from '../../src/in-workflow/index.ts';

/** Uses every helper, and hands over to a new run inside a lock. */
export async function day(room: string, runs = 2): Promise<string[]> {
  const about = { room, leaseSeconds: 4, waitSeconds: 5 };
  return await withLock(['report', 'index'], { ...about, type: 'exclusive' }, async ({ tokens }) => {
    const task = await announceTask(room, { taskId: `task-${runs}`, title: 'a day', input: tokens.report });
    const outcome = await task.outcome();
    if (runs > 1) return await wf.continueAsNew<typeof day>(room, runs - 1);
    const phase = await openBarrier(room, 'phase', { roster: ['ann', 'bob'], timeoutSeconds: 60, fallback: 'fail' });
    const decided = await decide(room, {
      question: 'Go?',
      voters: ['ann', 'bob'],
      quorum: 2,
      deadlineSeconds: 60,
      proposalId: 'p',
    });
    const released = await phase.outcome();
    // Long enough for a renewal.
    await wf.sleep(1_500);
    const permit = await withPermit('api', about, async ({ token }) => token > tokens.report);
    return [outcome.type, decided.type, released.type, String(permit)];
  });
}
