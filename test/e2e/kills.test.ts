import { afterAll, beforeAll, expect, it } from 'vitest';
import type { OwnedChild } from '../../src/dev/child.ts';
import { startProxy, type Call, type Proxy } from '../support/proxy.ts';
import { faultsOf, runsOf } from '../support/history.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { retried, say, Wire, type Envelope } from '../support/wire.ts';
import { startWorkerProcess } from '../support/workerProcess.ts';

type Mode = 'before' | 'after' | 'never';

let stack: Stack;

beforeAll(async () => {
  stack = await startStack({ worker: null });
});
afterAll(() => stack.stop());

/**
 * A worker that is killed at every completion of a workflow task, before the server has received it or before the worker
 * receives the answer; the next one stands by, its polls held back until then. A task whose completion was killed before is let through the
 * next time, or nothing would ever happen.
 */
class Mortal {
  kills = 0;
  readonly #mode: Mode;
  readonly #queue: string;
  #worker: OwnedChild | undefined;
  #proxy: Proxy | undefined;
  #letThrough = false;
  #standby: Promise<void> = Promise.resolve();

  constructor(mode: Mode, queue: string) {
    this.#mode = mode;
    this.#queue = queue;
  }

  async start(): Promise<void> {
    const proxy = await startProxy(stack.server.address, (call) => this.#decide(call));
    this.#proxy = proxy;
    this.#worker = await startWorkerProcess(proxy.address, this.#queue);
  }

  async stop(): Promise<void> {
    await this.#standby;
    await this.#worker?.kill();
    await this.#proxy?.stop();
  }

  async #decide(call: Call): Promise<void> {
    const completion = call.method === 'RespondWorkflowTaskCompleted';
    if (!completion || this.#mode === 'never' || (this.#mode === 'before' && this.#letThrough)) {
      await call.forward();
      call.pass();
      if (completion) this.#letThrough = false;
      return;
    }
    this.#letThrough = true;
    if (this.#mode === 'after') await call.forward();
    this.kills += 1;
    const killed = this.#worker?.kill();
    this.#standby = (async () => {
      await killed;
      this.#worker = await startWorkerProcess(this.#proxy?.address ?? '', this.#queue);
    })();
    await this.#standby;
  }
}

/** A task's life: announced, claimed, renewed, expired, claimed again, completed. Returns its log without ids and times. */
async function life(room: string, taskQueue: string): Promise<{ log: object[]; wire: Wire; answers: string[] }> {
  const wire = Wire.task(stack.client, room, 't', {
    taskQueue,
    workflowTaskTimeout: '2s',
    config: { linger_seconds: 3_600 },
  });
  const answers: string[] = [];
  const ask = async (message: Envelope): Promise<void> => {
    const replies = await retried(() => wire.ask(message));
    answers.push(...replies.map(({ type, attempt, holder }) => `${type} ${String(attempt)} ${String(holder)}`));
  };
  await ask(
    say('task.announce', 'producer', { task_id: 't', title: 'a life', claim_seconds: 600, lease_seconds: 600 }),
  );
  await ask(say('task.claim', 'one', { task_id: 't' }));
  await ask(say('task.renew', 'one', { task_id: 't', attempt: 1, lease_seconds: 1 }));
  await retried(() => wire.until(({ type, attempt }) => type === 'task.announce' && attempt === 2));
  await ask(say('task.claim', 'two', { task_id: 't' }));
  await ask(say('task.complete', 'two', { task_id: 't', attempt: 2, result: 'done' }));
  const log = await retried(() => wire.log());
  return {
    wire,
    answers,
    log: log.map(({ seq, envelope: { type, from, to, attempt, holder, result } }) => ({
      seq,
      type,
      from,
      to,
      attempt,
      holder,
      result,
    })),
  };
}

it('a worker killed around every workflow task of a task’s life changes nothing', async () => {
  const modes: readonly Mode[] = ['never', 'before', 'after'];
  const lived = await Promise.all(
    modes.map(async (mode) => {
      const queue = `kills-${mode}`;
      const mortal = new Mortal(mode, queue);
      await mortal.start();
      try {
        const started = Date.now();
        const { wire, ...outcome } = await life(queue, queue);
        const runs = await runsOf(stack.client, wire.workflowId);
        // What a killed worker was at has timed out; nothing was refused or did not replay.
        expect(faultsOf(runs)).toEqual([]);
        const tasks = runs
          .flatMap(({ events }) => events)
          .filter((event) => event.workflowTaskCompletedEventAttributes).length;
        console.info(
          `kills ${mode}: ${mortal.kills} workers killed, ${tasks} workflow tasks, ${Date.now() - started} ms`,
        );
        return { mode, outcome, kills: mortal.kills };
      } finally {
        await mortal.stop();
      }
    }),
  );
  const [never, ...others] = lived;
  for (const { outcome, kills } of others) {
    expect(outcome).toEqual(never?.outcome);
    expect(kills).toBeGreaterThanOrEqual(6);
  }
  expect(never?.outcome.answers.at(-1)).toBe('task.completed 2 two');
});
