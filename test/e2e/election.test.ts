import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { expect, it } from 'vitest';
import { RECONNECT } from '../../src/dev/connect.ts';
import { startDevServer } from '../../src/dev/server.ts';
import { failover } from '../support/failover.ts';
import { runsOf } from '../support/history.ts';
import { startStack } from '../support/stack.ts';
import { retried, say, Wire } from '../support/wire.ts';
import { startWorkerProcess } from '../support/workerProcess.ts';

it('a killed worker and a restarted server change neither the epoch nor who leads', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'synod-election-'));
  const dbFilename = path.join(folder, 'temporal.db');
  const role = 'r';
  const about = { role };
  try {
    const before = await life(dbFilename, async (wire) => {
      for (const agent of ['bob', 'ann', 'cleo'])
        await retried(() => wire.ask(say('coordinator.join', agent, { ...about, heartbeat_seconds: 300 })));
      await retried(() => wire.ask(say('coordinator.resign', 'bob', { ...about, epoch: 1 })));
      await retried(() => wire.ask(say('coordinator.directive', 'ann', { ...about, epoch: 2, directive: 'first' })));
      return standing(await wire.view());
    });
    expect(before).toMatchObject({ epoch: 2, coordinator: 'ann' });
    await life(dbFilename, async (wire) => {
      expect(standing(await retried(() => wire.view()))).toEqual(before);
      const directive = async (from: string, epoch: number) =>
        (await retried(() => wire.ask(say('coordinator.directive', from, { ...about, epoch, directive: 'next' }))))[0];
      expect(await directive('bob', 1)).toMatchObject({ type: 'error', code: 'stale_epoch' });
      expect(await directive('ann', 2)).toMatchObject({ type: 'coordinator.accepted', epoch: 2 });
      await retried(() => wire.ask(say('coordinator.leave', 'ann', about)));
      expect(standing(await wire.view())).toMatchObject({ epoch: 3, coordinator: 'cleo' });
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }

  /** A server on the same file, and a worker that is killed. */
  async function life<T>(file: string, act: (wire: Wire) => Promise<T>): Promise<T> {
    const server = await startDevServer({ log: () => {}, dbFilename: file });
    const connection = await Connection.connect({ address: server.address, channelArgs: RECONNECT });
    const worker = await startWorkerProcess(server.address);
    try {
      return await act(Wire.coordinator(new Client({ connection }), 'restart', role, { workflowTaskTimeout: '2s' }));
    } finally {
      await worker.kill();
      await connection.close();
      await server.stop();
    }
  }
});

/** What must be the same: who leads, since when, and who stands. */
function standing({ epoch, coordinator, since, candidates, last_heartbeat }: Record<string, unknown>): object {
  return { epoch, coordinator, since, candidates, last_heartbeat };
}

it('200 candidates stand for one role, and each leads once', async () => {
  const stack = await startStack();
  try {
    const wire = Wire.coordinator(stack.client, 'many', 'r');
    const role = 'r';
    const agents = Array.from({ length: 200 }, (_, i) => `agent-${String(i).padStart(3, '0')}`);
    const started = performance.now();
    const joins = await wire.request(
      ...agents.map((from) => say('coordinator.join', from, { role, heartbeat_seconds: 300 })),
    );
    const joinedMs = performance.now() - started;
    expect(joins.map(([reply]) => reply?.['coordinator'])).toEqual(agents.map(() => agents[0]));
    for (const [i, from] of agents.entries()) {
      const [reply] = await retried(() => wire.ask(say('coordinator.resign', from, { role, epoch: i + 1 })));
      expect(reply).toMatchObject({ type: 'coordinator.resigned', epoch: i + 1, coordinator: from });
    }
    expect(await wire.view()).toMatchObject({ status: 'vacant', epoch: 200, candidate_count: 0 });
    const runs = await runsOf(stack.client, wire.workflowId);
    const events = runs.reduce((sum, run) => sum + run.events.length, 0);
    console.info(
      `election: 200 candidates joined in ${joinedMs.toFixed(0)} ms, and led one after the other: ` +
        `${((performance.now() - started) / 1000).toFixed(1)} s in all, ${events} events in ${runs.length} run(s)`,
    );
  } finally {
    await stack.stop();
  }
});

it('a coordinator whose process is killed is followed by another in the next epoch', async () => {
  const stack = await startStack();
  try {
    const { ms, epoch, killed, next, directives, lost, elected } = await failover(
      stack.client,
      stack.server.address,
      'failover',
      2,
    );
    expect(lost).toMatchObject({ epoch, coordinator: killed });
    expect(elected).toMatchObject({ epoch: epoch + 1 });
    expect([elected['coordinator'], next]).not.toContain(killed);
    const epochs = directives.map((directive) => Number(directive['epoch']));
    expect(epochs).toEqual([...new Set(epochs)].sort((x, y) => x - y));
    // What the killed one has directed is of its own epochs, and the next one's first comes after it.
    expect(directives.find((directive) => Number(directive['epoch']) > epoch)).toMatchObject({ from: next });
    expect(ms).toBeGreaterThanOrEqual(6_000);
    console.info(`election: heartbeat 2 s; from the last heartbeat to the next accepted directive ${ms} ms`);
  } finally {
    await stack.stop();
  }
});
