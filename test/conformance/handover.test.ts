import { describe, expect, it } from 'vitest';
import { json, type Json } from '../../src/envelope/fields.ts';
import { MAX_CONFIG_BYTES, MAX_HANDOVER_BYTES } from '../../src/envelope/limits.ts';
import { codeOf, Drive, START, type Said } from './subject.ts';
import { subjects } from './protocols.ts';

const KIB = 1024;
/** The agent ids, names and keys that take the most room. */
const agentOf = (n: number): string => `${n}-`.padEnd(128, 'x');
const nameOf = (n: number): string => `${n}-`.padEnd(200, '日');
const keyOf = (n: number): string => `${n}-`.padEnd(128, '日');
/** Where answers are signalled to; quotes take twice their room in JSON. */
const replyTo = (n: number): string => `${n}-`.padEnd(200, '"');
/** Nothing of it is published. */
const SOURCE = (n: number): string => `synod:lab:task:${n}`.padEnd(255, 'x');

function bytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}

/** Fills what a protocol holds to its bounds: state, subscribers, effects. */
type Fill = (drive: Drive) => void;

function ask(drive: Drive, say: Said, more: { [field: string]: Json } = {}): unknown {
  return codeOf(drive.request(drive.message(say, more)));
}

const roster = (from: number): string[] => Array.from({ length: 100 }, (_, i) => agentOf(from + i));

const fills: { readonly [name: string]: Fill } = {
  taskLease(drive) {
    const about = { task_id: 't 1', attempt: 1 };
    const opening: Said = { type: 'task.announce', from: 'ann', task_id: 't 1', title: 'T', input: 'x'.repeat(15_000) };
    ask(drive, opening, { reply_to: replyTo(1), max_attempts: 1 });
    ask(drive, { type: 'task.claim', from: 'bob', task_id: 't 1' }, { reply_to: replyTo(2) });
    const reason = '日'.repeat(5_000);
    ask(drive, { type: 'task.fail', from: 'bob', ...about, retry: false, reason });
  },
  coordinatorElection(drive) {
    const join = (n: number) =>
      ask(
        drive,
        { type: 'coordinator.join', from: agentOf(n), role: 'main', heartbeat_seconds: 300 },
        { reply_to: replyTo(n) },
      );
    for (let n = 1; join(n) !== 'over_limit'; n++) if (n > 5_000) throw new Error('there is no bound');
  },
  quorumProposal(drive) {
    const about = { proposal_id: 'p 1' };
    const voters = Array.from({ length: 110 }, (_, n) => agentOf(n));
    const options = Array.from({ length: 2 }, (_, n) => nameOf(n));
    const terms = { question: 'q', voters, options, quorum: 110, deadline_seconds: 600 };
    ask(drive, { type: 'decision.propose', from: 'ann', ...about, ...terms }, { reply_to: replyTo(0) });
    for (const [n, from] of voters.entries())
      ask(drive, { type: 'decision.vote', from, ...about, choice: options[0] ?? '' }, { reply_to: replyTo(n) });
  },
  barrier(drive) {
    const about = { phase: 'sort 1' };
    const open = { roster: roster(0), timeout_seconds: 1, fallback: 'escalate', more: true };
    ask(drive, { type: 'barrier.open', from: 'ann', ...about, ...open }, { reply_to: replyTo(0) });
    for (let part = 1; part < 10; part++)
      ask(drive, { type: 'barrier.roster', from: 'ann', ...about, roster: roster(part * 100), more: part < 9 });
    for (let n = 0; n < 900; n++)
      ask(drive, { type: 'barrier.checkin', from: agentOf(n), ...about }, { reply_to: replyTo(n) });
    for (let round = 0; round < 100; round++) {
      drive.now = drive.host.nextDeadline()?.at ?? drive.now;
      drive.host.tick(drive.now);
      ask(drive, { type: 'barrier.resolve', from: 'operator:jo', ...about, action: 'extend' });
    }
  },
  lockManager(drive) {
    const request = (n: number, resources: readonly string[], more = {}) =>
      ask(
        drive,
        { type: 'lock.request', from: agentOf(n), resources: [...resources], lock_type: 'exclusive', ...more },
        { reply_to: replyTo(n) },
      );
    // Half of them are lost at one instant, and the others wait in vain at another.
    for (let n = 0; n < 300; n++) request(n, [`r${n}`], { lease_seconds: 10 });
    for (let n = 300; request(n, ['r0'], { wait_seconds: 600 }) !== 'over_limit'; n++)
      if (n > 5_000) throw new Error('there is no bound');
    drive.now += 10_000;
    drive.host.tick(drive.now);
  },
  room(drive) {
    for (let n = 0; n < 100; n++)
      ask(drive, { type: 'room.join', from: agentOf(n), kind: nameOf(n), purpose: '日'.repeat(300) });
    for (let n = 0; n < 1_500; n++) {
      const row = { id: nameOf(n), kind: 'task', status: 'open', since: new Date(START).toISOString() };
      drive.host.publish({ source: SOURCE(n), events: [], row }, drive.now);
    }
    ask(drive, { type: 'room.pause', from: 'operator:jo', reason: '日'.repeat(5_000) });
  },
  stateStore(drive) {
    const put = (n: number) =>
      ask(drive, { type: 'state.put', from: agentOf(n), namespace: 'cfg', key: nameOf(n), value: '日'.repeat(500) });
    for (let n = 0; put(n) !== 'over_limit'; n++) if (n > 5_000) throw new Error('there is no bound');
  },
  chatLedger(drive) {
    const about = { from: 'b1', chat: 'matrix:!lab:example.org', epoch: 1 };
    ask(drive, { ...about, type: 'bridge.take' }, { reply_to: replyTo(1) });
    ask(drive, { ...about, type: 'bridge.renew', heard: '日'.repeat(1_000) });
    const post = { after: 0, part: 0, key: keyOf(1), text: '日'.repeat(4_000), last: 1, parts: 1, whole: keyOf(2) };
    ask(drive, { ...about, type: 'bridge.send', ...post });
  },
};

/** What every workflow holds, to its bounds: identities, log, mirror, outbox. */
function fillHost(drive: Drive): void {
  const about = { type: 'config.set', from: 'operator:jo' };
  for (let n = 0; n < 600; n++)
    ask(drive, { ...about, config: {} }, { from: `operator:${n}`, idempotency_key: keyOf(n) });
  const large = () => ask(drive, { ...about, config: { unknown: 'x'.repeat(15_000) } });
  for (let n = 0; n < 30; n++) large();
  // The first half is being published when the run ends.
  drive.host.mirror.take(drive.subject.workflowId, drive.now);
  const repeat = drive.message({ ...about, config: { unknown: 'x'.repeat(7_000) } });
  for (let n = 0; n < 30; n++) drive.request({ ...repeat, reply_to: replyTo(n) });
  for (let n = 0; n < 30; n++) large();
}

const permits = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`${n}-`.padEnd(56, 'x'), 1]));

describe.each(subjects)('$name with everything at its bounds', (of) => {
  const config: { [key: string]: Json } = of.name === 'lockManager' ? { permits } : {};
  const drive = new Drive(of, { config: { ...config, max_waits: 5, unknown: 'x'.repeat(100_000) } });
  const fill = fills[of.name];
  if (!fill) throw new Error(`say how ${of.name} is filled`);
  fill(drive);
  fillHost(drive);
  const snapshot = json.parse(JSON.parse(JSON.stringify(drive.host.snapshot())));
  const parts = snapshot as Record<string, Json>;
  const sizes = Object.fromEntries(Object.entries(parts).map(([part, value]) => [part, bytes(value)]));

  it('hands over less than it may', () => {
    console.info(`${of.name}: ${bytes({ room: 'lab', state: snapshot })} bytes ${JSON.stringify(sizes)}`);
    expect(bytes({ room: 'lab', state: snapshot })).toBeLessThanOrEqual(MAX_HANDOVER_BYTES + 64);
    expect(MAX_HANDOVER_BYTES + 64).toBeLessThan(1_900_000);
  });

  it.each([
    ['config', MAX_CONFIG_BYTES],
    ['config_ignored', 8 * KIB],
    ['log', 386 * KIB],
    ['memory', (256 + 144) * KIB],
    ['subscribers', (128 + 192) * KIB + 64],
    ['mirror', 192 * KIB + 2 * KIB],
    ['effects', 128 * KIB],
    ['state', 384 * KIB],
    ['final', 17 * KIB],
  ])('keeps the budget of its %s', (part, budget) => {
    expect(sizes[part] ?? 0).toBeLessThanOrEqual(budget);
  });

  it('has filled what it shares with every other', () => {
    expect(sizes['log']).toBeGreaterThan(350 * KIB);
    expect(sizes['memory']).toBeGreaterThan(240 * KIB);
    expect(sizes['subscribers']).toBeGreaterThan(170 * KIB);
    expect(sizes['mirror']).toBeGreaterThan(of.area === 'room' ? 0 : 170 * KIB);
  });

  it('is the same in the next run', () => {
    const next = of.restore(JSON.stringify(snapshot), drive.now);
    expect(JSON.parse(JSON.stringify(next.snapshot()))).toEqual(snapshot);
    expect(next.view(undefined, drive.now)).toEqual(drive.host.view(undefined, drive.now));
    expect(next.view(undefined, drive.now)['config_ignored']).toEqual(
      drive.host.view(undefined, drive.now)['config_ignored'],
    );
  });
});
