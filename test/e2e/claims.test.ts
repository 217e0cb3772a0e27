import type { Client } from '@temporalio/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startStack, type Stack } from '../support/stack.ts';
import { say, Wire } from '../support/wire.ts';

const AGENTS = 8;
const ROUNDS = 50;

let stack: Stack;
let clients: Client[];

beforeAll(async () => {
  stack = await startStack();
  clients = await Promise.all(Array.from({ length: AGENTS }, () => stack.connect()));
});
afterAll(() => stack.stop());

it(`gives a task to one of ${AGENTS} agents that claim it at the same instant, ${ROUNDS} times`, async () => {
  const winners = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const taskId = `t-${round}`;
    const producer = Wire.task(stack.client, 'claims', taskId);
    await producer.ask(say('task.announce', 'producer', { task_id: taskId, title: 'one for all' }));
    const replies = await Promise.all(
      clients.map(async (client, i) => {
        const agent = `agent-${i}`;
        return {
          agent,
          replies: await Wire.task(client, 'claims', taskId).ask(say('task.claim', agent, { task_id: taskId })),
        };
      }),
    );
    const acks = replies.filter(({ replies: [first] }) => first?.type === 'task.ack');
    expect(acks).toHaveLength(1);
    const holder = acks[0]?.agent;
    winners.add(String(holder));
    const losers = replies.filter(({ agent }) => agent !== holder);
    expect(losers).toHaveLength(AGENTS - 1);
    for (const { agent, replies: answers } of losers) {
      expect(answers).toEqual([
        expect.objectContaining({ type: 'task.closed', reason: 'claimed', to: agent, holder, attempt: 1 }),
      ]);
    }
    expect(await producer.view()).toMatchObject({ status: 'held', holder, attempt: 1 });
    const log = await producer.log();
    expect(log.map(({ envelope }) => envelope.type)).toEqual([
      'task.announce',
      'task.claim',
      'task.ack',
      'task.closed',
    ]);
  }
  console.info(`claims: ${winners.size} of ${AGENTS} agents have won at least once`);
});
