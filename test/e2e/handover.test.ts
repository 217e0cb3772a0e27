import type { Client } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createActivities } from '../../activities/index.ts';
import { count, failedTasksOf, faultsOf, runsOf } from '../support/history.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { retried, say, Wire, type Envelope } from '../support/wire.ts';

// The server suggests continue-as-new so early that a short test has many of them.
const SUGGESTED_EVENTS = 100;
const SENDERS = 6;
const READERS = 3;
const POSTS_A_SENDER = 60;

/** What these lock managers log is not published to the room until their gate is opened. */
const gates = new Map<string, { readonly opened: Promise<void>; readonly open: () => void }>();
const activities = createActivities();
/** The idempotency keys of the escalations that were begun; they end once this gate is opened. */
const escalations: string[] = [];
let endEscalations: () => void = () => undefined;
const escalationsEnd = new Promise<void>((resolve) => (endEscalations = resolve));

let stack: Stack;
let clients: Client[];

beforeAll(async () => {
  stack = await startStack({
    worker: {
      activities: {
        synodPublish: async (input: Parameters<typeof activities.synodPublish>[0]) => {
          await gates.get(input.publication.source)?.opened;
          await activities.synodPublish(input);
        },
        synodEscalate: async ({ key }: Parameters<typeof activities.synodEscalate>[0]) => {
          escalations.push(key);
          await escalationsEnd;
        },
      },
    },
    server: { extraArgs: ['--dynamic-config-value', `limit.historyCount.suggestContinueAsNew=${SUGGESTED_EVENTS}`] },
  });
  clients = await Promise.all(Array.from({ length: SENDERS + READERS }, () => stack.connect()));
});
afterAll(async () => {
  // A worker waits for its activities.
  for (const { open } of gates.values()) open();
  endEscalations();
  await stack.stop();
});

function clientOf(i: number): Client {
  return clients[i] ?? stack.client;
}

describe('a room that hands over again and again', () => {
  it('keeps every acknowledged message once and in order, for all readers', async () => {
    const total = SENDERS * POSTS_A_SENDER;
    const posts = (events: readonly Envelope[]): string[] =>
      events.flatMap((e) => (e.type === 'room.post' ? [`${e.from} ${String(e['text'])}`] : []));
    await Wire.room(stack.client, 'relay').ask(say('room.join', 'host', { kind: 'agent', purpose: 'opens' }));

    const readers = Array.from({ length: READERS }, async (_, i) => {
      const wire = Wire.room(clientOf(SENDERS + i), 'relay');
      const seqs: number[] = [];
      const seen: Envelope[] = [];
      for (let after = 0, ended = 0; posts(seen).length < total;) {
        const page = await retried(() => wire.receive({ reader: `r-${i}`, agents: ['*'], after, wait_seconds: 20 }));
        expect(page.truncated).toBe(false);
        ended += page.retry_after_seconds === undefined ? 0 : 1;
        for (const { seq, envelope } of page.events) {
          seqs.push(seq);
          seen.push(envelope);
        }
        after = page.next;
        if (ended > 10_000) throw new Error('a reader is turned away for ever');
      }
      return { seqs, posts: posts(seen) };
    });
    const answers: string[] = [];
    const acknowledged = await Promise.all(
      Array.from({ length: SENDERS }, async (_, i) => {
        const wire = Wire.room(clientOf(i), 'relay');
        const sent: string[] = [];
        for (let n = 0; n < POSTS_A_SENDER; n++) {
          const message = say('room.post', `s-${i}`, { text: String(n) });
          // Half by update, half by signal: a signal is acknowledged by the server alone.
          if (i % 2 === 0) answers.push(...(await retried(() => wire.ask(message))).map(({ type }) => type));
          else await wire.signal(message);
          sent.push(`s-${i} ${n}`);
        }
        return sent;
      }),
    );
    const read = await Promise.all(readers);
    expect(answers).toEqual(Array.from({ length: total / 2 }, () => 'room.accepted'));
    const [first] = read;
    for (const { seqs, posts: order } of read) {
      expect(seqs).toEqual(seqs.map((_, at) => at + 1));
      expect(order).toEqual(first?.posts);
    }
    expect([...(first?.posts ?? [])].sort()).toEqual(acknowledged.flat().sort());
    for (const [i, sent] of acknowledged.entries()) {
      expect(first?.posts.filter((post) => post.startsWith(`s-${i} `))).toEqual(sent);
    }
    const runs = await runsOf(stack.client, 'synod:relay:room');
    console.info(
      `handover: ${total} posts over ${runs.length} runs, the longest of ${Math.max(...runs.map((r) => r.events.length))} events; failed tasks ${JSON.stringify(failedTasksOf(runs))}`,
    );
    expect(runs.length).toBeGreaterThan(3);
  });
});

describe('a task that hands over', () => {
  it('keeps its lease, its token, its answers and its deadline', async () => {
    const task = Wire.task(stack.client, 'relay', 'held');
    const announce = say('task.announce', 'producer', {
      task_id: 'held',
      title: 'long',
      claim_seconds: 600,
      lease_seconds: 600,
    });
    await task.ask(announce);
    const claim = say('task.claim', 'holder', { task_id: 'held' });
    const granted = await task.ask(claim);
    const runsBefore = (await runsOf(stack.client, task.workflowId)).length;
    for (let round = 0; (await runsOf(stack.client, task.workflowId)).length < runsBefore + 3; round++) {
      expect(round).toBeLessThan(100);
      const [reply] = await retried(() => task.ask(say('task.claim', `late-${round}`, { task_id: 'held' })));
      expect(reply).toMatchObject({ type: 'task.closed', holder: 'holder', attempt: 1 });
      await task.signal(say('task.claim', `later-${round}`, { task_id: 'held' }));
    }
    expect(await retried(() => task.ask(claim))).toEqual(granted);
    expect((await retried(() => task.ask({ ...announce, title: 'other' })))[0]).toMatchObject({
      code: 'idempotency_conflict',
    });

    // A hand-over with the deadline and a waiting reader pending; who reads from here on cannot be too late for it.
    const { head } = (await task.view())['log'] as { head: number };
    const [renewed] = await retried(() =>
      task.ask(say('task.renew', 'holder', { task_id: 'held', attempt: 1, lease_seconds: 3 })),
    );
    expect(renewed).toMatchObject({ type: 'task.renewed', attempt: 1, lease_seconds: 3 });
    const waiting = (async (): Promise<Envelope> => {
      for (let after = head; ;) {
        const page = await retried(() => task.receive({ agents: ['watcher'], after, wait_seconds: 20 }));
        const expired = page.events.find(({ envelope }) => envelope.type === 'task.expired');
        if (expired) return expired.envelope;
        after = page.next;
      }
    })();
    const runsNow = (await runsOf(stack.client, task.workflowId)).length;
    // Nothing that could take the task where it comes after the end of the lease.
    const intruding = { task_id: 'held', attempt: 1 };
    await Promise.all(Array.from({ length: 150 }, (_, i) => task.signal(say('task.renew', `late-${i}`, intruding))));
    const expired = await waiting;
    expect(expired).toMatchObject({ holder: 'holder', attempt: 1 });
    const lateMs = Date.parse(String(expired['ts'])) - Date.parse(String(renewed?.['lease_expires_at']));
    expect(lateMs).toBeGreaterThanOrEqual(0);
    // By its own timer, and not by the reader's, which is set to 20 seconds.
    expect(lateMs).toBeLessThan(15_000);
    await expect.poll(async () => (await runsOf(stack.client, task.workflowId)).length).toBeGreaterThan(runsNow);
    expect(
      (await retried(() => task.ask(say('task.complete', 'holder', { task_id: 'held', attempt: 1 }))))[0],
    ).toMatchObject({ code: 'stale_token' });
    const log = await retried(() => task.log());
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, i) => i + 1));
    expect(log.filter(({ envelope }) => envelope.type === 'task.ack')).toHaveLength(1);
  });
});

describe('a task that has ended and is not delivered', () => {
  it('hands over what it owes, answers closed meanwhile, and completes', async () => {
    const about = { task_id: 'owing' };
    const task = Wire.task(stack.client, 'owes', 'owing', { config: { linger_seconds: 0 } });
    await task.ask(say('task.announce', 'producer', { ...about, title: 'owing', max_attempts: 1 }));
    const fail = say('task.fail', 'worker', { ...about, attempt: 1, reason: 'broken', retry: false });
    await retried(() => task.request(say('task.claim', 'worker', about), fail));
    const runs = async () => (await runsOf(stack.client, task.workflowId)).length;
    for (let round = 0; (await runs()) < 3; round++) {
      expect(round).toBeLessThan(200);
      const [reply] = await retried(() => task.ask(say('task.claim', `late-${round}`, about)));
      expect(reply).toMatchObject({ type: 'error', code: 'closed' });
    }
    expect((await task.handle.describe()).status.name).toBe('RUNNING');
    endEscalations();
    expect(await task.result()).toMatchObject({ outcome: { type: 'task.failed' } });
    // Each run begins it again, under the same key.
    expect(new Set(escalations).size).toBe(1);
    expect(escalations.length).toBeGreaterThan(1);
  });
});

describe('a lock manager that should hand over', () => {
  /** Takes and frees a lock until the history of its first run is long enough to be handed over; nothing is published meanwhile. */
  async function busy(room: string): Promise<{ wire: Wire; cycle: () => Promise<void>; open: () => void }> {
    const wire = Wire.locks(stack.client, room);
    let open: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    gates.set(wire.workflowId, { opened, open });
    const cycle = async () => {
      const request = say('lock.request', 'ann', { resources: ['x'], lock_type: 'exclusive' });
      const [grant] = await retried(() => wire.ask(request));
      await retried(() => wire.ask(say('lock.release', 'ann', { lock_id: grant?.['lock_id'] })));
    };
    await cycle();
    const long = async () => (await stack.client.workflow.getHandle(wire.workflowId).describe()).historyLength;
    while ((await long()) <= SUGGESTED_EVENTS + 10 && (await runsOf(stack.client, wire.workflowId)).length === 1)
      await cycle();
    return { wire, cycle, open };
  }

  /** One that serves on. It does so for two seconds, and then hands over in any case: a slower machine has to try again. */
  async function quiescent() {
    for (let i = 1; ; i++) {
      const { wire, open } = await busy(`quiescent-${i}`);
      const [before, ...others] = await runsOf(stack.client, wire.workflowId);
      if (before && others.length === 0) return { wire, open, before };
      open();
    }
  }

  it('serves on while something is under way, and does so once that has ended', async () => {
    const { wire, open, before } = await quiescent();
    // A lock that is taken and freed costs no timer of its own.
    expect(count([before], 'timerStartedEventAttributes')).toBe(1);
    expect(count([before], 'timerCanceledEventAttributes')).toBe(0);
    open();
    const handed = async () => (await runsOf(stack.client, wire.workflowId)).length;
    await expect.poll(handed).toBe(2);
    expect(faultsOf(await runsOf(stack.client, wire.workflowId))).toEqual([]);
  });

  it('does so in the end whatever is under way', async () => {
    const { wire, cycle, open } = await busy('restless');
    const handed = async () => (await runsOf(stack.client, wire.workflowId)).length > 1;
    for (let cycles = 0; !(await handed()); cycles++) {
      expect(cycles).toBeLessThan(1_000);
      await cycle();
    }
    open();
  });
});
