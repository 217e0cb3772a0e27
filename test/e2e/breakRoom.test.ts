import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Agent } from '../../src/client/index.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { say, Wire } from '../support/wire.ts';

describe('a break room', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
  });
  afterAll(() => stack.stop());

  it('returns who works on a task, from the posts of the room and from its primitives', async () => {
    const room = 'hint';
    const [ann, bo] = [new Agent(stack.client, 'ann'), new Agent(stack.client, 'bo')];
    expect(await bo.shouldYield(room, 't-1', 5)).toEqual({ yield: false });
    await ann.join(room, { kind: 'worker', purpose: 'sorting' });
    await ann.post(room, 'Starting: t-1');
    expect(await bo.shouldYield(room, 't-1', 60)).toMatchObject({
      yield: true,
      to: 'ann',
      because: { type: 'room.post', text: 'Starting: t-1' },
    });
    expect(await ann.shouldYield(room, 't-1', 60)).toEqual({ yield: false });
    expect(await bo.shouldYield(room, 't-12', 60)).toEqual({ yield: false });
    await ann.announce(room, { taskId: 't-3', title: 'to do' });
    await Wire.task(stack.client, room, 't-3').ask(say('task.claim', 'ann', { task_id: 't-3' }));
    await expect.poll(async () => await bo.shouldYield(room, 't-3', 60)).toMatchObject({ yield: true, to: 'ann' });
    for (const bad of [0, -1, Number.NaN])
      await expect(bo.shouldYield(room, 't-1', bad)).rejects.toThrow('withinSeconds');
  });

  it('loses the race that a lease wins: two that ask at once may both go on, two that claim at once may not', async () => {
    const room = 'race';
    const agents = [new Agent(stack.client, 'ann'), new Agent(stack.client, 'bo')];
    await agents[0]?.announce(room, { taskId: 't-1', title: 'to do' });
    // The check of the article: look, and where it is quiet, say so and begin.
    const hints = await Promise.all(agents.map((agent) => agent.shouldYield(room, 't-1', 5)));
    expect(hints).toEqual([{ yield: false }, { yield: false }]);
    await Promise.all(agents.map((agent) => agent.post(room, 'Starting: t-1')));
    // Each learns of the other when both are at it.
    const after = await Promise.all(agents.map((agent) => agent.shouldYield(room, 't-1', 60)));
    expect(after).toMatchObject([
      { yield: true, to: 'bo' },
      { yield: true, to: 'ann' },
    ]);
    const task = Wire.task(stack.client, room, 't-1');
    const answers = await Promise.all(agents.map(({ id }) => task.ask(say('task.claim', id, { task_id: 't-1' }))));
    expect(new Set(answers.map(([first]) => first?.type))).toEqual(new Set(['task.ack', 'task.closed']));
  });
});
