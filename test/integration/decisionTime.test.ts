import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTimeSkipping } from '../support/timeSkipping.ts';
import { say, Wire, type Envelope } from '../support/wire.ts';

let env: TestWorkflowEnvironment;
let stop: () => Promise<void>;

beforeAll(async () => {
  ({ env, stop } = await startTimeSkipping());
});
afterAll(() => stop());

async function logOf(wire: Wire, type: string): Promise<Envelope[]> {
  return (await wire.log()).map(({ envelope }) => envelope).filter((envelope) => envelope.type === type);
}

/** How long after another envelope one came, in seconds. */
function secondsBetween(first: Envelope | undefined, second: Envelope | undefined): number {
  return (Date.parse(String(second?.['ts'])) - Date.parse(String(first?.['ts']))) / 1000;
}

const PROPOSAL = { question: 'Publish?', voters: ['v1', 'v2', 'v3'], quorum: 2, deadline_seconds: 600 };

describe('a proposal', () => {
  async function proposed(name: string, more: object = {}): Promise<Wire> {
    const wire = Wire.proposal(env.client, 'time', name);
    const [reply] = await wire.ask(say('decision.propose', 'ann', { proposal_id: name, ...PROPOSAL, ...more }));
    expect(reply?.type).toBe('decision.accepted');
    return wire;
  }

  it('is open until its deadline, and has failed from it on', async () => {
    const wire = await proposed('late');
    await wire.ask(say('decision.vote', 'v1', { proposal_id: 'late', choice: 'yes' }));
    await env.sleep('580 s');
    expect(await wire.view()).toMatchObject({ status: 'open', tally: { yes: 1, no: 0 } });
    await env.sleep('40 s');
    const [reply] = await wire.ask(say('decision.vote', 'v2', { proposal_id: 'late', choice: 'yes' }));
    expect(reply).toMatchObject({ type: 'error', code: 'closed' });
    expect(await wire.result()).toMatchObject({ outcome: { type: 'decision.failed', reason: 'deadline' } });
  });
});

describe('a barrier', () => {
  async function opened(name: string, more: object): Promise<Wire> {
    const wire = Wire.barrier(env.client, 'time', name);
    const terms = { phase: name, roster: ['m1', 'm2', 'm3'], timeout_seconds: 600 };
    const [reply] = await wire.ask(say('barrier.open', 'ann', { ...terms, ...more }));
    expect(reply?.type).toBe('barrier.accepted');
    return wire;
  }

  async function came(wire: Wire, phase: string, ...members: string[]): Promise<void> {
    for (const member of members) {
      const [reply] = await wire.ask(say('barrier.checkin', member, { phase }));
      expect(reply?.type).toBe('barrier.waiting');
    }
  }

  it('proceeds at its time-out with the quorum, and drops who is missing', async () => {
    const wire = await opened('proceeds', { fallback: 'proceed', quorum: 2 });
    await came(wire, 'proceeds', 'm1', 'm3');
    await env.sleep('580 s');
    expect(await wire.view()).toMatchObject({ status: 'open' });
    await env.sleep('40 s');
    expect((await wire.result()).outcome).toMatchObject({
      type: 'barrier.released',
      arrived: ['m1', 'm3'],
      dropped: ['m2'],
    });
  });

  it('short of the quorum is escalated, and still released when all are in', async () => {
    const wire = await opened('short', { fallback: 'proceed', quorum: 2 });
    await came(wire, 'short', 'm1');
    await env.sleep('620 s');
    expect(await wire.view()).toMatchObject({ status: 'escalated', missing: ['m2', 'm3'] });
    await came(wire, 'short', 'm2', 'm3');
    expect((await wire.result()).outcome).toMatchObject({ type: 'barrier.released', arrived_count: 3 });
  });

  it('that escalates is extended twice by an operator, and escalated again each time', async () => {
    const wire = await opened('extended', { fallback: 'escalate' });
    await came(wire, 'extended', 'm2');
    await env.sleep('620 s');
    expect(await logOf(wire, 'barrier.escalated')).toMatchObject([{ missing: ['m1', 'm3'], missing_count: 2 }]);
    const extend = { phase: 'extended', action: 'extend' };
    for (const [seconds, count] of [
      [300, 2],
      [600, 3],
    ] as const) {
      const more = seconds === 600 ? {} : { extend_seconds: seconds };
      const [reply] = await wire.ask(say('barrier.resolve', 'operator:jo', { ...extend, ...more }));
      expect(reply?.type).toBe('barrier.accepted');
      await env.sleep(`${seconds - 20} s`);
      expect(await wire.view()).toMatchObject({ status: 'open', escalations: count - 1 });
      await env.sleep('40 s');
      expect(await wire.view()).toMatchObject({ status: 'escalated', escalations: count });
      const escalated = (await logOf(wire, 'barrier.escalated')).at(-1);
      const late = secondsBetween(reply, escalated) - seconds;
      expect(late).toBeGreaterThanOrEqual(0);
      expect(late).toBeLessThan(15);
    }
    const [released] = await wire.ask(say('barrier.resolve', 'operator:jo', { phase: 'extended', action: 'proceed' }));
    expect(released).toMatchObject({ type: 'barrier.released', arrived: ['m2'], dropped: ['m1', 'm3'] });
    expect((await wire.result()).outcome).toEqual(released);
  });

  it('with fail has failed at its time-out, and names who was missing', async () => {
    const wire = await opened('fails', { fallback: 'fail' });
    await came(wire, 'fails', 'm1');
    await env.sleep('620 s');
    expect((await wire.ask(say('barrier.checkin', 'm2', { phase: 'fails' })))[0]).toMatchObject({ code: 'closed' });
    expect((await wire.result()).outcome).toMatchObject({ type: 'barrier.failed', missing: ['m2', 'm3'] });
  });
});
