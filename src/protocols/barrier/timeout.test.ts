import { describe, expect, it } from 'vitest';
import { longest, opened } from './barrier.fixture.ts';
import { barrier } from './protocol.ts';
import { barrierState } from './state.ts';

const KIB = 1024;

describe('the time-out', () => {
  it('with fail names who is missing', () => {
    const drive = opened({ fallback: 'fail' });
    drive.say('bob', 'checkin');
    drive.events();
    expect(drive.at(59.999).events()).toEqual([]);
    expect(drive.at(60).events()).toMatchObject([
      { type: 'barrier.failed', arrived: ['bob'], missing: ['cleo', 'dan'], missing_count: 2, dropped: [] },
    ]);
    expect(drive.answers('cleo', 'checkin')).toEqual(['error closed']);
    expect(drive.host.effects).toEqual([]);
  });

  it('with proceed and the quorum present releases, and drops who is missing', () => {
    const drive = opened({ fallback: 'proceed', quorum: 2 });
    for (const from of ['dan', 'cleo']) drive.say(from, 'checkin');
    drive.events();
    expect(drive.at(60).events()).toMatchObject([
      { type: 'barrier.released', arrived: ['dan', 'cleo'], dropped: ['bob'], missing_count: 0, dropped_count: 1 },
    ]);
    expect(drive.view('dropped')).toEqual(['bob']);
  });

  it.each([
    ['short of the quorum', { quorum: 2 }],
    ['without a quorum, which is the roster then', {}],
  ])('with proceed %s escalates, once, and runs the escalation', (_name, more) => {
    const drive = opened({ fallback: 'proceed', ...more });
    drive.say('bob', 'checkin');
    drive.events();
    expect(drive.at(60).events()).toMatchObject([
      { type: 'barrier.escalated', phase: 'b', missing: ['cleo', 'dan'], missing_count: 2, arrived_count: 1 },
    ]);
    expect(drive.host.effects).toMatchObject([{ name: 'escalate', input: { type: 'barrier.escalated' } }]);
    expect(drive.view('status')).toBe('escalated');
    expect(drive.at(10_000).events()).toEqual([]);
  });

  it('comes first where a check-in is handled at that millisecond', () => {
    const drive = opened({ roster: ['bob'], fallback: 'fail' });
    drive.now = 60_000;
    expect(drive.answers('bob', 'checkin')).toEqual(['error closed']);
  });

  it('before the last part of the roster never releases', () => {
    const drive = opened({ fallback: 'proceed', quorum: 1, more: true });
    drive.say('bob', 'checkin');
    drive.events();
    expect(drive.at(60).emitted()).toEqual(['barrier.escalated']);
  });
});

describe('an escalated barrier', () => {
  it('still counts who comes, and is released when all are in', () => {
    const drive = opened().at(60);
    for (const from of ['bob', 'cleo']) expect(drive.answers(from, 'checkin')).toEqual(['barrier.waiting']);
    expect(drive.at(100_000).answers('dan', 'checkin')).toEqual(['barrier.waiting', 'barrier.released']);
  });

  it('that is extended is escalated again each time that the extension runs out', () => {
    const drive = opened().at(60);
    drive.emitted();
    expect(drive.say('operator:jo', 'resolve', { action: 'extend', extend_seconds: 5 })).toMatchObject([
      { type: 'barrier.accepted', timeout_at: '1970-01-01T00:01:05.000Z' },
    ]);
    expect(drive.view('status')).toBe('open');
    expect(drive.at(64.999).emitted()).toEqual([]);
    expect(drive.at(65).emitted()).toEqual(['barrier.escalated']);
    // Without a number it is the original time-out.
    drive.at(100).say('operator:jo', 'resolve', { action: 'extend' });
    expect(drive.at(159.999).emitted()).toEqual([]);
    expect(drive.at(160).emitted()).toEqual(['barrier.escalated']);
    expect(drive.view('escalations')).toBe(3);
  });
});

describe('an operator’s resolve', () => {
  it.each([0, 60])('with proceed releases who is in and drops the others, at second %d', (seconds) => {
    const drive = opened();
    drive.say('cleo', 'checkin');
    expect(drive.at(seconds).say('operator:jo', 'resolve', { action: 'proceed' })).toMatchObject([
      { type: 'barrier.released', arrived: ['cleo'], dropped: ['bob', 'dan'] },
    ]);
  });

  it.each([0, 60])('with fail ends it, at second %d', (seconds) => {
    const drive = opened();
    drive.say('cleo', 'checkin');
    expect(drive.at(seconds).say('operator:jo', 'resolve', { action: 'fail' })).toMatchObject([
      { type: 'barrier.failed', arrived: ['cleo'], missing: ['bob', 'dan'], dropped: [] },
    ]);
    expect(drive.answers('operator:jo', 'resolve', { action: 'extend' })).toEqual(['error closed']);
  });

  it('with extend before the time-out moves it, and the fallback stays what it is', () => {
    const drive = opened({ fallback: 'fail' }).at(50);
    drive.say('operator:jo', 'resolve', { action: 'extend', extend_seconds: 30 });
    drive.emitted();
    expect(drive.at(79.999).emitted()).toEqual([]);
    expect(drive.at(80).emitted()).toEqual(['barrier.failed']);
  });

  it('with proceed is refused before the last part of the roster', () => {
    const drive = opened({ more: true });
    drive.say('bob', 'checkin');
    expect(drive.say('operator:jo', 'resolve', { action: 'proceed' })[0]?.['reason']).toMatch(/^action /);
    expect(drive.answers('operator:jo', 'resolve', { action: 'fail' })).toEqual(['barrier.failed']);
  });

  it.each(['ann', 'bob', 'operators:jo'])('by %s, who is none, is unauthorized', (from) => {
    expect(opened().answers(from, 'resolve', { action: 'proceed' })).toEqual(['error unauthorized']);
  });

  it.each([
    [{ action: 'wait' }, 'action'],
    [{ action: 'fail', extend_seconds: 5 }, 'extend_seconds'],
    [{ action: 'extend', extend_seconds: -1 }, 'extend_seconds'],
  ])('with %o is refused by its %s', (fields, field) => {
    expect(opened().say('operator:jo', 'resolve', fields)[0]?.['reason']).toMatch(new RegExp(`^${field} `));
  });
});

describe('the largest roster', () => {
  const members = longest(1_024);

  function filled() {
    const drive = opened({ roster: members.slice(0, 100), more: true, fallback: 'fail' });
    for (let at = 100; at < members.length; at += 100) {
      const roster = members.slice(at, at + 100);
      expect(drive.answers('ann', 'roster', { roster, more: at + 100 < members.length })).toEqual(['barrier.accepted']);
    }
    return drive;
  }

  function key(from: string, what: string): { idempotency_key: string } {
    return { idempotency_key: `${what}${from.slice(0, 4)}`.padEnd(128, '日') };
  }

  it('with the longest ids and keys comes, is answered again, and is released', () => {
    const drive = filled();
    const sent = members.map((from) => drive.message(from, 'checkin', key(from, 'c')));
    const [first] = sent;
    for (const [i, message] of sent.entries()) {
      const replies = drive.send(message);
      expect(replies[0]).toMatchObject({ type: 'barrier.waiting', arrived_count: i + 1, missing_count: 1_023 - i });
      for (const reply of replies) expect(JSON.stringify(reply).length).toBeLessThan(16 * KIB);
      if (i === 700) drive.restart();
    }
    expect(drive.host.result?.outcome).toMatchObject({ type: 'barrier.released', arrived_count: 1_024 });
    expect(drive.host.result?.outcome['arrived']).toHaveLength(32);
    expect(drive.restart().send(first)).toMatchObject([
      { type: 'barrier.waiting', arrived_count: 1, missing_count: 1_023 },
      { type: 'barrier.released', arrived_count: 1_024 },
    ]);
    expect(JSON.stringify(drive.host.snapshot()).length).toBeLessThan(2 * KIB * KIB);
  });

  it('comes and leaves again, all of it, within the budget', () => {
    const [last = '', ...others] = members;
    const drive = filled();
    for (const from of others) drive.say(from, 'checkin', key(from, 'c'));
    for (const from of others) expect(drive.answers(from, 'leave', key(from, 'l'))).toEqual(['barrier.accepted']);
    expect(drive.answers(last, 'leave', key(last, 'l'))).toEqual(['barrier.accepted', 'barrier.failed']);
    const { state, memory } = drive.host.snapshot();
    const pinned = JSON.stringify(Reflect.get(Object(memory), 'pinned'));
    expect(JSON.stringify(state).length + Buffer.byteLength(pinned)).toBeLessThanOrEqual(384 * KIB);
  });

  it('is never larger than its protocol counts, and not much smaller', () => {
    const drive = filled();
    for (const from of members.slice(0, 600)) drive.say(from, 'checkin');
    for (const each of [opened(), drive]) {
      const state = barrierState.parse(each.host.snapshot().state);
      const bytes = Buffer.byteLength(JSON.stringify(state));
      const counted = barrier.size?.(state) ?? 0;
      expect(counted).toBeGreaterThanOrEqual(bytes);
      expect(counted).toBeLessThan(bytes * 1.1 + KIB);
    }
  });

  it('is named by 32 of each list, so that nothing is left out for size', () => {
    const drive = filled();
    for (const from of members.slice(0, 500)) drive.say(from, 'checkin');
    drive.say('operator:jo', 'resolve', { action: 'fail' });
    const failed = drive.host.result?.outcome;
    expect(failed).toMatchObject({ arrived_count: 500, missing_count: 524, dropped_count: 0 });
    expect(failed?.['missing']).toHaveLength(32);
    expect(failed).not.toHaveProperty('omitted');
  });

  it('checks in by the largest request, whose replies together stay below what an update may return', () => {
    const drive = filled();
    const batch = members.slice(0, 512).map((from) => drive.message(from, 'checkin'));
    const first = drive.host.request(batch, drive.now);
    const again = drive.host.request(batch, drive.now);
    for (const replies of [first, again]) {
      expect(JSON.stringify(replies).length).toBeLessThanOrEqual(1.1 * KIB * KIB);
      expect(replies[511]?.[0]).toMatchObject({ type: 'barrier.waiting', arrived_count: 512, missing_count: 512 });
      expect(replies[511]?.[0]?.['omitted']).toEqual(expect.arrayContaining(['missing']));
    }
    // Asked for alone, nothing is left out.
    expect(drive.send(batch[511])[0]?.['missing']).toHaveLength(32);
  });
});
