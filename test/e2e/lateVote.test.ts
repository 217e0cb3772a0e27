import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startStack, type Stack } from '../support/stack.ts';
import { say, Wire } from '../support/wire.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ worker: null });
});
afterAll(() => stack.stop());

it(
  'a vote is not counted that is handled in the same workflow task as the deadline, though it came first',
  { timeout: 60_000 },
  async () => {
    const wire = Wire.proposal(stack.client, 'late', 'p');
    const terms = { question: 'Go?', voters: ['v1', 'v2'], quorum: 2, deadline_seconds: 4 };
    const about = { proposal_id: 'p' };
    const worker = await stack.work();
    await wire.ask(say('decision.propose', 'ann', { ...about, ...terms }));
    await wire.ask(say('decision.vote', 'v1', { ...about, choice: 'yes' }));
    const deadline = Date.parse(String((await wire.view())['deadline']));
    // Nobody works while the vote comes and the deadline passes: the next worker is given both at once.
    await worker.stop();
    await wire.signal(say('decision.vote', 'v2', { ...about, choice: 'yes' }));
    expect(Date.now()).toBeLessThan(deadline);
    await pause(deadline + 500 - Date.now());
    await stack.work();
    const failed = await wire.until(({ type }) => type === 'decision.failed' || type === 'decision.commit');
    expect(failed).toMatchObject({ type: 'decision.failed', reason: 'deadline', tally: { yes: 1, no: 0 } });
    const refused = await wire.until(({ to }) => to === 'v2', ['v2']);
    expect(refused).toMatchObject({ type: 'error', code: 'closed' });
  },
);
