import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startStack, type Stack } from '../support/stack.ts';
import { say, Wire } from '../support/wire.ts';

const LEASE_MS = 2_000;
/** When the renewal is sent, in milliseconds from the lease's end. It is handled some milliseconds later. */
const OFFSETS = [-200, -40, -20, -15, -10, -8, -6, -5, -4, -3, -2, -1, 0, 1, 100];

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

const at = (value: unknown): number => Date.parse(String(value));

/** What becomes of a renewal that is sent so many milliseconds after the end of its lease. */
async function outcomeOf(offset: number) {
  const name = `edge${offset}`;
  const wire = Wire.task(stack.client, 'edge', name);
  const leaseMs = Math.max(LEASE_MS, -2 * offset);
  await wire.ask(say('task.announce', 'producer', { task_id: name, title: name, lease_seconds: leaseMs / 1000 }));
  const [ack] = await wire.ask(say('task.claim', 'w', { task_id: name }));
  const end = at(ack?.['lease_expires_at']);
  await pause(end + offset - Date.now());
  const [reply] = await wire.ask(say('task.renew', 'w', { task_id: name, attempt: 1 }));
  const expired = (await wire.log()).filter(
    ({ envelope }) => envelope.type === 'task.expired' && envelope['attempt'] === 1,
  );
  const renewed = reply?.type === 'task.renewed';
  const handled = renewed ? at(reply['lease_expires_at']) - leaseMs : at(expired[0]?.envelope['ts']);
  return { offset, answer: reply?.['code'] ?? reply?.type, renewed, inTime: handled < end, late: handled - end };
}

it('a renewal around the end of its lease is renewed before it and refused from it on, by the time it is handled', async () => {
  const outcomes = await Promise.all(OFFSETS.map(async (offset) => await outcomeOf(offset)));
  // A machine may be slower than that: the other side of the edge is met in the end.
  for (let offset = -400; !outcomes.some(({ renewed }) => renewed); offset -= 200)
    outcomes.push(await outcomeOf(offset));
  console.info(
    `edge: ${outcomes.map(({ offset, answer, late }) => `${offset}: ${JSON.stringify(answer)} (${late})`).join(', ')}`,
  );
  for (const { answer, renewed, inTime } of outcomes) {
    expect(answer).toBe(renewed ? 'task.renewed' : 'stale_token');
    expect(inTime).toBe(renewed);
  }
  expect(outcomes.some(({ offset, renewed }) => offset > 0 && renewed)).toBe(false);
});
