import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Agent, connect, disconnect, type Question, type Room } from '../../src/client/index.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { say, Wire } from '../support/wire.ts';

let stack: Stack;
const stops: (() => Promise<void> | void)[] = [];

beforeAll(async () => {
  stack = await startStack();
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});
afterAll(() => stack.stop());

/** A room as an agent with a client of its own sees it. */
async function roomOf(name: string, agent: string): Promise<Room> {
  const client = await connect({ address: stack.server.address });
  stops.push(() => disconnect(client));
  return new Agent(client, agent).room(name);
}

describe('room.decide', () => {
  const proposal = { question: 'Publish?', voters: ['v1', 'v2', 'v3'], quorum: 2, deadlineSeconds: 60 };

  it('resolves to the commit, with what the handlers of the voters returned', async () => {
    const asked: Question[] = [];
    const [first, second] = await Promise.all([roomOf('commit', 'v1'), roomOf('commit', 'v2')]);
    stops.unshift(
      first.onProposal((question) => {
        asked.push(question);
        return { choice: 'yes', reason: 'ready' };
      }),
      second.onProposal(async () => ({ choice: 'yes' })),
      (await roomOf('commit', 'v3')).onProposal(() => undefined),
      (await roomOf('commit', 'other')).onProposal(() => ({ choice: 'no' })),
    );
    const result = await (await roomOf('commit', 'ann')).decide({ ...proposal, proposalId: 'p' });
    expect(result).toEqual({
      outcome: 'committed',
      proposalId: 'p',
      choice: 'yes',
      tally: { yes: 2, no: 0 },
      votes: { v1: 'yes', v2: 'yes' },
    });
    expect(asked).toEqual([
      {
        proposalId: 'p',
        question: 'Publish?',
        options: ['yes', 'no'],
        voters: proposal.voters,
        quorum: 2,
        proposer: 'ann',
      },
    ]);
  });

  it('is voted on by an agent that comes later, once, and asked again is the same decision', async () => {
    const ann = await roomOf('later', 'ann');
    const deciding = ann.decide({ ...proposal, proposalId: 'p', quorum: 1 });
    const wire = Wire.proposal(stack.client, 'later', 'p');
    await expect.poll(async () => (await wire.view().catch(() => ({ status: '' })))['status']).toBe('open');
    // The room is started by the publication of the proposal.
    await expect.poll(async () => (await ann.view().catch(() => undefined)) !== undefined).toBe(true);
    stops.unshift((await roomOf('later', 'v3')).onProposal(() => ({ choice: 'no' })));
    expect(await deciding).toMatchObject({ outcome: 'committed', choice: 'no', votes: { v3: 'no' } });
    expect(await ann.decide({ ...proposal, proposalId: 'p', quorum: 1 })).toMatchObject({ choice: 'no' });
    await expect(ann.decide({ ...proposal, proposalId: 'p', quorum: 3 })).rejects.toMatchObject({
      code: 'idempotency_conflict',
    });
  });

  it('resolves to why it failed', async () => {
    const ann = await roomOf('failed', 'ann');
    expect(await ann.decide({ ...proposal, deadlineSeconds: 0.5 })).toMatchObject({
      outcome: 'failed',
      reason: 'deadline',
      tally: { yes: 0, no: 0 },
    });
    await expect(ann.decide({ ...proposal, quorum: 4 })).rejects.toMatchObject({ code: 'invalid_envelope' });
  });

  it('reports why a vote was refused, and what a handler throws', async () => {
    const errors: string[] = [];
    const onError = (error: unknown) => void errors.push(String(error));
    const wrong = await roomOf('errors', 'v1');
    stops.unshift(wrong.onProposal(() => ({ choice: 'maybe' }), { onError }));
    stops.unshift((await roomOf('errors', 'v2')).onProposal(() => Promise.reject(new Error('no idea')), { onError }));
    const stop = new AbortController();
    const deciding = (await roomOf('errors', 'ann')).decide({ ...proposal, proposalId: 'p' }, stop.signal);
    await expect.poll(() => errors.length).toBe(2);
    expect(errors.sort((a, b) => (a < b ? -1 : 1))).toEqual([
      'Error: no idea',
      expect.stringContaining('invalid_envelope: choice must be an option'),
    ]);
    stop.abort(new Error('waited enough'));
    await expect(deciding).rejects.toThrow('waited enough');
  });
});

describe('room.barrier', () => {
  it('releases all that meet, whoever opens it, and those that only come', async () => {
    const roster = ['w1', 'w2', 'w3'];
    const terms = { roster, timeoutSeconds: 60, fallback: 'fail' } as const;
    const [one, two, three, aggregator] = await Promise.all(
      [...roster, 'aggregator'].map(async (agent) => await roomOf('meet', agent)),
    );
    const results = await Promise.all([
      three?.barrier('sorted'),
      one?.barrier('sorted', { ...terms, note: 'all sorted' }),
      two?.barrier('sorted', terms),
      aggregator?.barrier('sorted', terms),
    ]);
    for (const result of results) {
      expect(result).toMatchObject({
        outcome: 'released',
        phase: 'sorted',
        dropped: [],
        arrivedCount: 3,
      });
      expect([...(result?.arrived ?? [])].sort((a, b) => (a < b ? -1 : 1))).toEqual(roster);
    }
    // No member can come after the end; whoever is none, and only opens it, may.
    expect(results.slice(0, 3).map((result) => result?.repeated)).toEqual([false, false, false]);
    // Later it is over: for those who had part in it, after a restart too, and for who had none.
    expect(await three?.barrier('sorted')).toEqual({ ...results[0], repeated: true });
    for (const again of [one, aggregator])
      expect(await again?.barrier('sorted', terms)).toMatchObject({ outcome: 'released', repeated: true });
    await expect((await roomOf('meet', 'w4')).barrier('sorted')).rejects.toMatchObject({ code: 'closed' });
    await expect(one?.barrier('sorted', { ...terms, fallback: 'escalate' })).rejects.toMatchObject({
      code: 'idempotency_conflict',
    });
  });

  it('names who was missing at the time-out, and who left', async () => {
    const [one, two] = [await roomOf('dropped', 'w1'), await roomOf('dropped', 'w2')];
    const terms = { roster: ['w1', 'w2', 'w3'], timeoutSeconds: 600, fallback: 'proceed', quorum: 1 } as const;
    const meeting = one.barrier('p', terms);
    await expect
      .poll(async () => await two.leaveBarrier('p').then(String, (error: { code: string }) => error.code))
      .toBe('undefined');
    const wire = Wire.barrier(stack.client, 'dropped', 'p');
    await expect.poll(async () => (await wire.view())['arrived']).toEqual(['w1']);
    // Its time-out comes once the two have come and gone, however long that takes.
    await wire.ask(say('barrier.resolve', 'operator:jo', { phase: 'p', action: 'extend', extend_seconds: 0.1 }));
    expect(await meeting).toMatchObject({
      outcome: 'released',
      arrived: ['w1'],
      dropped: ['w2', 'w3'],
      droppedCount: 2,
    });
    await expect(two.barrier('p')).rejects.toMatchObject({ code: 'closed' });
    await expect(two.leaveBarrier('never')).rejects.toMatchObject({ code: 'unknown' });
  });

  it('fails for all with the fallback fail, and refuses an agent that is no member', async () => {
    const [one, zed] = [await roomOf('fails', 'w1'), await roomOf('fails', 'zed')];
    const meeting = one.barrier('p', { roster: ['w1', 'w2'], timeoutSeconds: 60, fallback: 'fail' });
    const wire = Wire.barrier(stack.client, 'fails', 'p');
    await expect.poll(async () => (await wire.view().catch(() => ({ arrived: [] })))['arrived']).toEqual(['w1']);
    await expect(zed.barrier('p')).rejects.toMatchObject({ code: 'not_eligible' });
    await wire.ask(say('barrier.resolve', 'operator:jo', { phase: 'p', action: 'fail' }));
    expect(await meeting).toMatchObject({ outcome: 'failed', missingCount: 1 });
  });
});
