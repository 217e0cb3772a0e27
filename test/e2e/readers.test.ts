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

it(
  `serves ${READERS} readers of one process within Temporal's default limit of updates in flight`,
  { timeout: 120_000 },
  async () => {
    const wire = Wire.room(stack.client, 'crowd');
    await wire.ask(say('room.join', 'host', { kind: 'agent', purpose: 'opens' }));
    const { head } = (await wire.view())['log'] as { head: number };
    let turnedAway = 0;
    let firstAnswers = 0;
    let enough: () => void = () => {};
    // All but the waits that are held (max_waits, 3) have been turned away at least once.
    const crowded = new Promise<void>((resolve) => (enough = resolve));
    const started = Date.now();
    const readers = Array.from({ length: READERS }, async (_, i) => {
      for (let after = head, answered = false; ;) {
        const page = await wire.receive({ agents: [`agent-${i}`], after, wait_seconds: 20 });
        const post = page.events.find(({ envelope }) => envelope.type === 'room.post');
        if (post) return Date.now();
        after = page.next;
        if (!answered && ++firstAnswers === READERS - 3) enough();
        answered = true;
        if (page.retry_after_seconds === undefined) continue;
        turnedAway += 1;
        expect(page.events).toEqual([]);
        expect(page.retry_after_seconds).toBeGreaterThan(0);
        await pause(page.retry_after_seconds * 1000);
      }
    });
    await crowded;
    const posted = Date.now();
    const [reply] = await wire.ask(say('room.post', 'host', { text: 'here' }));
    expect(reply?.type).toBe('room.accepted');
    const requestMs = Date.now() - posted;
    const heard = await Promise.all(readers);
    expect(turnedAway).toBeGreaterThanOrEqual(READERS - 3);
    console.info(
      `readers: ${turnedAway} ended early in ${posted - started} ms; the post took ${requestMs} ms, the last of ${READERS} heard it after ${Math.max(...heard) - posted} ms`,
    );
    expect(Math.max(...heard) - posted).toBeLessThan(25_000);
  },
);
