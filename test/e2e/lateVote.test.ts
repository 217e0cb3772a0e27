import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startStack, type Stack } from '../support/stack.ts';
import { say, Wire } from '../support/wire.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ worker: null });
});
afterAll(() => stack.stop());

/**
 * A proposal whose second vote came before the deadline, while nobody worked: the next worker is given both at once. Where the
 * machine was too slow for that, with twice the time.
 */
async function votedInTime(seconds: number): Promise<{ wire: Wire; deadline: number }> {
  const about = { proposal_id: `p-${seconds}` };
  const wire = Wire.proposal(stack.client, 'late', about.proposal_id);
  const terms = { question: 'Go?', voters: ['v1', 'v2'], quorum: 2, deadline_seconds: seconds };
  const worker = await stack.work();
  await wire.ask(say('decision.propose', 'ann', { ...about, ...terms }));
  await wire.ask(say('decision.vote', 'v1', { ...about, choice: 'yes' }));
  const deadline = Date.parse(String((await wire.view())['deadline']));
  await worker.stop();
  await wire.signal(say('decision.vote', 'v2', { ...about, choice: 'yes' }));
  return Date.now() < deadline ? { wire, deadline } : await votedInTime(seconds * 2);
}

it('a vote is not counted that is handled in the same workflow task as the deadline, though it came first', async () => {
  const { wire, deadline } = await votedInTime(4);
  await pause(deadline + 500 - Date.now());
  await stack.work();
  const failed = await wire.until(({ type }) => type === 'decision.failed' || type === 'decision.commit');
  expect(failed).toMatchObject({ type: 'decision.failed', reason: 'deadline', tally: { yes: 1, no: 0 } });
  const refused = await wire.until(({ to }) => to === 'v2', ['v2']);
  expect(refused).toMatchObject({ type: 'error', code: 'closed' });
});
