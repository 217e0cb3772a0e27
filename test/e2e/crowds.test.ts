import { afterAll, beforeAll, expect, it } from 'vitest';
import { Agent } from '../../src/client/index.ts';
import { faultsOf, runsOf } from '../support/history.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { say, Wire } from '../support/wire.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.stop());

/** What it took, for whoever reads the output of the tests. */
async function logFigures(what: string, workflowId: string, started: number): Promise<void> {
  const ms = Math.round(performance.now() - started);
  const runs = await runsOf(stack.client, workflowId, undefined, 3);
  // A run that hands over while a message comes is refused by the server, and tries again: that is no fault.
  const faults = faultsOf(runs).filter((cause) => !cause.includes('UnhandledCommand'));
  expect(faults).toEqual([]);
  const events = runs.map((run) => run.events.length);
  console.info(`crowds: ${what}: ${ms} ms, ${events.length} runs of ${events.join(', ')} events`);
}

it('256 voters decide', async () => {
  const voters = Array.from({ length: 256 }, (_, i) => `voter-${i}`);
  const wire = Wire.proposal(stack.client, 'many', 'p');
  const started = performance.now();
  const deciding = new Agent(stack.client, 'ann')
    .room('many')
    .decide({ proposalId: 'p', question: 'All?', voters, quorum: 256, deadlineSeconds: 600 });
  await expect.poll(async () => (await wire.view().catch(() => ({ status: '' })))['status']).toBe('open');
  const votes = voters.map((voter) => say('decision.vote', voter, { proposal_id: 'p', choice: 'yes' }));
  const replies = await wire.request(...votes);
  expect(replies.map(([first]) => first?.type)).toEqual(voters.map(() => 'decision.voted'));
  expect(await deciding).toEqual({
    outcome: 'committed',
    proposalId: 'p',
    choice: 'yes',
    tally: { yes: 256, no: 0 },
    votes: Object.fromEntries(voters.map((voter) => [voter, 'yes'])),
  });
  await logFigures('256 voters', wire.workflowId, started);
});

it.each([
  ['short', (i: number) => `m${i}`],
  ['the longest', (i: number) => `${i}`.padEnd(128, 'm')],
])('a roster of 1,024 members with %s ids meets', { timeout: 900_000 }, async (name, idOf) => {
  const roster = Array.from({ length: 1_024 }, (_, i) => idOf(i));
  const phase = name.slice(0, 3);
  const room = `many-${phase}`;
  const started = performance.now();
  const options = { roster, timeoutSeconds: 600, fallback: 'fail' } as const;
  const opener = new Agent(stack.client, 'ann').room(room).barrier(phase, options);
  const met = await Promise.all([
    opener,
    ...roster.map(async (agent) => await new Agent(stack.client, agent).room(room).barrier(phase)),
  ]);
  expect(met).toHaveLength(1_025);
  for (const result of met) {
    expect(result).toMatchObject({ outcome: 'released', arrivedCount: 1_024, missingCount: 0, droppedCount: 0 });
    expect(result.arrived).toHaveLength(32);
  }
  await logFigures(`a roster of 1,024 with ${name} ids`, `synod:${room}:barrier:${phase}`, started);
});
