import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EffectInput } from '../../src/envelope/activities.ts';
import { SynodPlugin } from '../../src/plugin.ts';
import { workflowBundle } from '../support/bundle.ts';
import { startTimeSkipping } from '../support/timeSkipping.ts';
import { say, Wire } from '../support/wire.ts';

// 1, 2, 4, 8, 16, 30, 30 seconds lie between the tries: the eighth comes after 91.
const TRIES = 8;
const MINUTE_MS = 60_000;

let env: TestWorkflowEnvironment;
let stop: () => Promise<void>;
/** The keys of the escalations that were tried, and when. */
const tries: { key: string; at: number }[] = [];

async function onEscalation({ key }: EffectInput): Promise<void> {
  tries.push({ key, at: await env.currentTimeMs() });
  if (tries.length < TRIES) throw new Error('nobody answers the phone');
}

beforeAll(async () => {
  const plugin = new SynodPlugin({ onEscalation });
  ({ env, stop } = await startTimeSkipping(workflowBundle, { plugins: [plugin] }));
});
afterAll(() => stop());

describe('a task whose escalation fails for more than a minute after its linger', () => {
  it('answers closed at once meanwhile, and completes when it is delivered', async () => {
    const about = { task_id: 'late' };
    const wire = Wire.task(env.client, 'drain', 'late', { config: { linger_seconds: 1 } });
    await wire.ask(say('task.announce', 'producer', { ...about, title: 'late', max_attempts: 1 }));
    await wire.ask(say('task.claim', 'worker', about));
    const fail = say('task.fail', 'worker', { ...about, attempt: 1, reason: 'broken', retry: false });
    const failed = await wire.ask(fail);
    expect(failed).toMatchObject([{ type: 'task.failed' }]);
    await env.sleep('20 s');
    const before = tries.length;
    expect(before).toBeGreaterThan(1);
    expect(before).toBeLessThan(TRIES);
    // Its linger has passed long ago: it is open for its escalation alone.
    expect(await wire.ask(say('task.claim', 'other', about))).toMatchObject([{ type: 'error', code: 'closed' }]);
    expect(await wire.ask(fail)).toEqual(failed);
    expect((await wire.receive({ agents: ['other'], after: 0 })).events.at(-1)?.envelope).toMatchObject({
      type: 'task.failed',
    });
    expect(tries.length).toBeLessThan(TRIES);
    expect(await wire.result()).toMatchObject({ outcome: { type: 'task.failed' } });
    expect(tries).toHaveLength(TRIES);
    expect(new Set(tries.map(({ key }) => key)).size).toBe(1);
    const [first, last] = [tries[0], tries.at(-1)];
    expect((last?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(MINUTE_MS);
  });
});
