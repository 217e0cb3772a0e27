import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from '@temporalio/client';
import {
  Agent,
  TaskFailure,
  type Handler,
  type Json,
  type WorkOptions,
  type WorkReport,
} from '../../src/client/index.ts';
import { count, runsOf } from './history.ts';
import { startStack, type Stack } from './stack.ts';

/** A way from a process of agents to the workflows. */
export interface Way {
  /** A client of its own, as another process has; and what cuts it off. */
  connect(): Promise<{ client: Client; cut: () => Promise<void> }>;
  stop(): Promise<void>;
}

/** What the client promises its agents, whichever way it takes. */
export function describeClient(name: string, open: (stack: Stack) => Promise<Way>): void {
  let stack: Stack;
  let way: Way;
  let client: Client;
  const stops: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    // As servers are that nobody has configured: ten updates in flight a workflow.
    stack = await startStack({ server: { maxInFlightUpdates: null } });
    way = await open(stack);
    ({ client } = await way.connect());
  });
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
  });
  afterAll(async () => {
    await way.stop();
    await stack.stop();
  });

  async function agentOf(id: string): Promise<Agent> {
    const { client: own, cut } = await way.connect();
    stops.push(cut);
    return new Agent(own, id);
  }

  /** A worker that is stopped at the end of its test. */
  function working(agent: Agent, room: string, handler: Handler, options: WorkOptions = {}) {
    const stop = new AbortController();
    const reports: WorkReport[] = [];
    const signal = options.signal ? AbortSignal.any([stop.signal, options.signal]) : stop.signal;
    const onReport = (report: WorkReport) => void reports.push(report);
    const ended = agent.work(room, handler, { claimJitterSeconds: 0.05, ...options, onReport, signal });
    stops.unshift(async () => {
      stop.abort();
      await ended;
    });
    return { reports, ended };
  }

  /** A promise and what settles it. */
  function settling<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
    let resolve: (value: T) => void = () => undefined;
    const promise = new Promise<T>((settle) => (resolve = settle));
    return { promise, resolve };
  }

  const kindsOf = (reports: readonly WorkReport[]) => reports.map(({ kind, token }) => `${kind} ${token}`);
  /** Only its own time limit ends it otherwise. */
  const ABORTED = async (signal: AbortSignal): Promise<unknown> => {
    if (!signal.aborted)
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    return signal.reason;
  };

  describe(`${name}: what agents of one process send`, () => {
    it('goes together: many messages at once are few updates', async () => {
      const room = 'group';
      const agents = Array.from({ length: 64 }, (_, i) => new Agent(client, `agent-${i}`));
      await Promise.all(agents.map(async (agent) => await agent.post(room, 'hello')));
      await Promise.all(agents.map(async (agent) => await agent.post(room, 'again')));
      const runs = await runsOf(stack.client, `synod:${room}:room`);
      const updates = count(runs, 'workflowExecutionUpdateAcceptedEventAttributes');
      expect(updates).toBeGreaterThanOrEqual(1);
      // The first of each round goes alone, the rest together; a start may take one more.
      expect(updates).toBeLessThanOrEqual(6);
    });

    it('announces once what is announced twice, at once, one after the other, or when it is over', async () => {
      const producer = new Agent(client, 'producer');
      const task = { taskId: 'once', title: 'once only', lingerSeconds: 1 };
      const [first, second] = await Promise.all([producer.announce('twice', task), producer.announce('twice', task)]);
      expect(second.replies[0]).toMatchObject({ type: 'task.accepted', attempt: 1 });
      await producer.announce('twice', task);
      const runs = await runsOf(stack.client, 'synod:twice:task:once');
      expect(runs).toHaveLength(1);
      working(await agentOf('worker'), 'twice', async () => 'done');
      expect(await first.outcome()).toMatchObject({ type: 'task.completed', result: 'done' });
      await stack.client.workflow.getHandle('synod:twice:task:once').result();
      const late = await producer.announce('twice', task);
      expect(late.replies.map(({ type }) => type)).toEqual(['task.accepted', 'task.completed']);
      await expect(producer.announce('twice', { ...task, title: 'another' })).rejects.toMatchObject({
        code: 'idempotency_conflict',
        message: expect.stringContaining('task once: ') as string,
      });
    });
  });

  describe(`${name}: a worker`, () => {
    /** Announces one task and gives it to a worker. */
    async function one(
      room: string,
      handler: Handler,
      options: WorkOptions = {},
      task: { leaseSeconds?: number; maxAttempts?: number; input?: Json } = {},
    ) {
      const producer = await agentOf('producer');
      const { outcome } = await producer.announce(room, { taskId: 't', title: 'to do', ...task });
      const worker = working(await agentOf('worker'), room, handler, options);
      return { producer, outcome, ...worker };
    }

    it('gets what to do, and its result is the outcome', async () => {
      const received = settling<object>();
      const { outcome, reports } = await one(
        'handed-over',
        async ({ signal: _signal, ...work }) => {
          received.resolve(work);
          return { words: 3 };
        },
        {},
        { input: { path: 'a b' } },
      );
      expect(await received.promise).toEqual({
        room: 'handed-over',
        taskId: 't',
        title: 'to do',
        input: { path: 'a b' },
        token: 1,
      });
      expect(await outcome()).toMatchObject({
        type: 'task.completed',
        result: { words: 3 },
        holder: 'worker',
        attempt: 1,
      });
      await expect.poll(() => kindsOf(reports)).toEqual(['started 1', 'completed 1']);
    });

    it('leaves what it throws over to another attempt', async () => {
      const { outcome, reports } = await one('throws', async ({ token }) => {
        if (token === 1) throw new Error('not today');
        return token;
      });
      expect(await outcome()).toMatchObject({ type: 'task.completed', attempt: 2, result: 2 });
      await expect.poll(() => kindsOf(reports)).toEqual(['started 1', 'failed 1', 'started 2', 'completed 2']);
      expect(reports[1]).toMatchObject({ reason: 'not today' });
    });

    it('ends the task where its error allows no other attempt', async () => {
      const { outcome } = await one('final', () =>
        Promise.reject(new TaskFailure('there is no such file', { retry: false })),
      );
      expect(await outcome()).toMatchObject({ type: 'task.failed', attempt: 1, reason: 'there is no such file' });
    });

    it.each([
      ['large', 'x'.repeat(20_000), 'too large'],
      // Few characters, many bytes.
      ['wide', '€'.repeat(6_000), 'too large'],
      ['no-json', new Date(0) as unknown as string, 'not JSON'],
    ])('fails a task whose result is unfit (%s), once, with the reason, and reports it', async (room, result, why) => {
      const { outcome, reports } = await one(room, async () => result);
      expect(await outcome()).toMatchObject({ type: 'task.failed', reason: expect.stringContaining(why) as string });
      await expect.poll(() => kindsOf(reports)).toEqual(['started 1', 'failed 1']);
      expect(reports[1]).toMatchObject({ reason: expect.stringContaining(why) as string });
    });

    it('fails with a reason that is cut in the middle of a character', async () => {
      const reason = `${'x'.repeat(999)}😀 and more`;
      const { outcome } = await one('cut', () => Promise.reject(new TaskFailure(reason, { retry: false })));
      expect(await outcome()).toMatchObject({ type: 'task.failed', reason: `${'x'.repeat(999)}\ufffd` });
    });

    it('is aborted when the task is cancelled', async () => {
      const begun = settling<AbortSignal>();
      const { producer, outcome, reports } = await one('cancelled', async ({ signal }) => {
        begun.resolve(signal);
        await ABORTED(signal);
      });
      const signal = await begun.promise;
      await producer.cancel('cancelled', 't', 'not needed any more');
      expect(String(await ABORTED(signal))).toContain('the task was cancelled');
      expect(await outcome()).toMatchObject({ type: 'task.cancelled' });
      await expect.poll(() => kindsOf(reports)).toEqual(['started 1', 'lost 1']);
    });

    it('hands back what it is at when it is stopped, to be done at once by another', async () => {
      const begun = settling<void>();
      const stop = new AbortController();
      const { outcome, reports, ended } = await one(
        'stopped',
        async ({ signal }) => {
          begun.resolve();
          await ABORTED(signal);
          signal.throwIfAborted();
        },
        { signal: stop.signal },
      );
      await begun.promise;
      stop.abort();
      await ended;
      expect(kindsOf(reports)).toEqual(['started 1', 'released 1']);
      working(await agentOf('other'), 'stopped', async () => 'mine now');
      expect(await outcome()).toMatchObject({ type: 'task.completed', holder: 'other', attempt: 2 });
    });

    it('is aborted when its lease is lost, here because the server is out of reach', async () => {
      const begun = settling<void>();
      const held: { token: number; signal: AbortSignal }[] = [];
      const { client: own, cut } = await way.connect();
      const producer = await agentOf('producer');
      // So short a lease may be lost before, on a slow machine: then it is the next attempt that is cut off.
      const task = { taskId: 't', title: 'to do', leaseSeconds: 2, maxAttempts: 100 };
      const { outcome } = await producer.announce('lost', task);
      const { reports } = working(new Agent(own, 'cut-off'), 'lost', async ({ token, signal }) => {
        held.push({ token, signal });
        begun.resolve();
        await ABORTED(signal);
      });
      await begun.promise;
      await cut();
      const { token, signal = AbortSignal.abort() } = held.at(-1) ?? {};
      expect(String(await ABORTED(signal))).toContain('the lease has run out');
      await expect.poll(() => kindsOf(reports).slice(-2)).toEqual([`started ${token}`, `lost ${token}`]);
      working(await agentOf('other'), 'lost', async () => 'done');
      const { attempt, ...done } = await outcome();
      expect(done).toMatchObject({ type: 'task.completed', holder: 'other' });
      expect(attempt).toBeGreaterThan(token ?? Number.NaN);
    });
  });

  it(`${name} serves twelve agents of as many processes on a server with the default limit`, async () => {
    const room = 'twelve';
    const producer = await agentOf('producer');
    const agents = await Promise.all(Array.from({ length: 12 }, (_, i) => agentOf(`agent-${i}`)));
    for (const agent of agents) working(agent, room, async ({ taskId }) => taskId);
    const tasks = await Promise.all(
      Array.from({ length: 36 }, (_, i) => producer.announce(room, { taskId: `t-${i}`, title: 'one of many' })),
    );
    const outcomes = await Promise.all(tasks.map(async ({ outcome }) => await outcome()));
    expect(outcomes.map(({ type, result }) => ({ type, result }))).toEqual(
      tasks.map(({ taskId }) => ({ type: 'task.completed', result: taskId })),
    );
  });
}
