import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startStack, type Stack } from '../support/stack.ts';
import { say, Wire } from '../support/wire.ts';

const READERS = 12;

let stack: Stack;
// The server's own limit: 10 updates in flight on a workflow.
beforeAll(async () => {
  stack = await startStack({ server: { maxInFlightUpdates: null } });
});
afterAll(() => stack.stop());

it(`serves ${READERS} readers of one process within Temporal's default limit of updates in flight`, async () => {
  const wire = Wire.room(stack.client, 'many');
  await wire.ask(say('room.join', 'host', { kind: 'agent', purpose: 'opens' }));
  const { head } = (await wire.view())['log'] as { head: number };
  let turnedAway = 0;
  let firstAnswers = 0;
  let enough: () => void = () => {};
  // All but the waits that are held (max_waits, 3) have been turned away at least once.
  const displaced = new Promise<void>((resolve) => (enough = resolve));
  let accepted = false;
  const readers = Array.from({ length: READERS }, async (_, i) => {
    for (let after = head, answered = false; ;) {
      const postIsThere = accepted;
      const page = await wire.receive({ agents: [`agent-${i}`], after, wait_seconds: 20 });
      if (page.events.some(({ envelope }) => envelope.type === 'room.post')) return;
      // Nobody waits for the end of another's wait: the first call after the post returns it.
      expect(postIsThere).toBe(false);
      after = page.next;
      if (!answered && ++firstAnswers === READERS - 3) enough();
      answered = true;
      if (page.retry_after_seconds === undefined) continue;
      turnedAway += 1;
      expect(page.events).toEqual([]);
      expect(page.retry_after_seconds).toBeGreaterThan(0);
      expect(page.retry_after_seconds).toBeLessThanOrEqual(20);
      await pause(page.retry_after_seconds * 1000);
    }
  });
  await displaced;
  const [reply] = await wire.ask(say('room.post', 'host', { text: 'here' }));
  expect(reply?.type).toBe('room.accepted');
  accepted = true;
  await Promise.all(readers);
  expect(turnedAway).toBeGreaterThanOrEqual(READERS - 3);
});
