import { describe, expect, it } from 'vitest';
import { opened, unopened } from './barrier.fixture.ts';

describe('a check-in', () => {
  it('is answered who is in, in the order of arrival, and who is missing, in that of the roster', () => {
    const drive = opened();
    drive.say('dan', 'checkin');
    expect(drive.say('bob', 'checkin', { note: 'ready' })).toMatchObject([
      {
        type: 'barrier.waiting',
        to: 'bob',
        phase: 'b',
        arrived: ['dan', 'bob'],
        missing: ['cleo'],
        arrived_count: 2,
        missing_count: 1,
        dropped_count: 0,
      },
    ]);
  });

  it('twice is once: answered, not counted, not logged', () => {
    const drive = opened();
    drive.say('bob', 'checkin');
    drive.events();
    expect(drive.say('bob', 'checkin', { note: 'again' })).toMatchObject([{ arrived: ['bob'], arrived_count: 1 }]);
    expect(drive.view('arrived')).toEqual(['bob']);
    expect(drive.events()).toEqual([]);
  });

  it.each(['ann', 'Bob', 'constructor', 'operator:jo'])('of %s, who is no member, is refused', (from) => {
    const drive = opened();
    expect(drive.answers(from, 'checkin')).toEqual(['error not_eligible']);
    expect(drive.view('arrived')).toEqual([]);
  });

  it('of the last one missing releases all, once, without anybody dropped', () => {
    const drive = opened();
    drive.say('bob', 'checkin');
    drive.say('cleo', 'checkin');
    const [waiting, released] = drive.say('dan', 'checkin');
    expect(waiting).toMatchObject({ type: 'barrier.waiting', to: 'dan', missing: [] });
    expect(released).toMatchObject({
      type: 'barrier.released',
      arrived: ['bob', 'cleo', 'dan'],
      dropped: [],
      arrived_count: 3,
      missing_count: 0,
      dropped_count: 0,
    });
    expect(released).not.toHaveProperty('to');
    expect(drive.answers('bob', 'checkin')).toEqual(['error closed']);
    expect(
      drive
        .at(60)
        .emitted()
        .filter((type) => type === 'barrier.released'),
    ).toHaveLength(1);
  });

  it('is needed of each: more check-ins of the same two release nobody', () => {
    const drive = opened();
    for (let i = 0; i < 5; i++) for (const from of ['bob', 'cleo']) drive.say(from, 'checkin');
    expect(drive.view('status')).toBe('open');
  });
});

describe('a member that leaves', () => {
  it('is not waited for any more, and named as dropped', () => {
    const drive = opened();
    drive.say('bob', 'checkin');
    expect(drive.say('dan', 'leave')).toMatchObject([
      { type: 'barrier.accepted', to: 'dan', arrived_count: 1, missing_count: 1, dropped_count: 1 },
    ]);
    expect(drive.say('cleo', 'checkin')[1]).toMatchObject({ arrived: ['bob', 'cleo'], dropped: ['dan'] });
  });

  it('as the last one missing releases the others', () => {
    const drive = opened();
    drive.say('bob', 'checkin');
    drive.say('cleo', 'checkin');
    expect(drive.answers('dan', 'leave')).toEqual(['barrier.accepted', 'barrier.released']);
  });

  it('after it had come does not count as arrived', () => {
    const drive = opened();
    for (const from of ['bob', 'cleo']) drive.say(from, 'checkin');
    drive.say('bob', 'leave');
    expect(drive.view('arrived')).toEqual(['cleo']);
    expect(drive.say('dan', 'checkin')[1]).toMatchObject({ arrived: ['cleo', 'dan'], dropped: ['bob'] });
  });

  it('cannot come back, and leaves but once', () => {
    const drive = opened();
    drive.say('bob', 'leave');
    drive.events();
    expect(drive.answers('bob', 'leave')).toEqual(['barrier.accepted']);
    expect(drive.answers('bob', 'checkin')).toEqual(['error not_eligible']);
    expect(drive.view('dropped')).toEqual(['bob']);
    expect(drive.events()).toEqual([]);
  });

  it('as all others have fails the barrier', () => {
    const drive = opened();
    drive.say('bob', 'checkin');
    for (const from of ['bob', 'cleo']) expect(drive.answers(from, 'leave')).toEqual(['barrier.accepted']);
    const [, failed] = drive.say('dan', 'leave');
    expect(failed).toMatchObject({ type: 'barrier.failed', missing: [], arrived: [], dropped: ['bob', 'cleo', 'dan'] });
  });

  it('must have been one', () => {
    expect(opened().answers('ann', 'leave')).toEqual(['error not_eligible']);
  });
});

describe('a roster in parts', () => {
  const first = { roster: ['bob', 'cleo'], more: true };

  it('releases nobody before its last part, and all at it who are in', () => {
    const drive = opened(first);
    expect(drive.answers('bob', 'checkin')).toEqual(['barrier.waiting']);
    expect(drive.answers('cleo', 'checkin')).toEqual(['barrier.waiting']);
    expect(drive.answers('dan', 'checkin')).toEqual(['error not_eligible']);
    expect(drive.say('ann', 'roster', { roster: ['dan'], more: true })).toMatchObject([
      { type: 'barrier.accepted', roster_count: 3 },
    ]);
    expect(drive.answers('dan', 'checkin')).toEqual(['barrier.waiting']);
    drive.say('eve', 'checkin');
    expect(drive.answers('ann', 'roster', { roster: ['eve'] })).toEqual(['barrier.accepted']);
    expect(drive.answers('eve', 'checkin')).toEqual(['barrier.waiting', 'barrier.released']);
  });

  it('is released or failed by its last part where all have checked in or left before', () => {
    const drive = opened(first);
    drive.say('bob', 'leave');
    expect(drive.answers('cleo', 'leave')).toEqual(['barrier.accepted']);
    expect(drive.answers('ann', 'roster', { roster: ['dan'], more: true })).toEqual(['barrier.accepted']);
    drive.say('dan', 'checkin');
    drive.say('ann', 'roster', { roster: ['eve'], more: true });
    drive.say('eve', 'leave');
    expect(drive.view('status')).toBe('open');
    expect(drive.answers('ann', 'roster', { roster: ['fay'] })).toEqual(['barrier.accepted']);
    expect(drive.answers('fay', 'leave')).toEqual(['barrier.accepted', 'barrier.released']);
  });

  it.each(['bob', 'operator:jo', 'Ann'])('is not for %s to add to', (from) => {
    const drive = opened(first);
    expect(drive.answers(from, 'roster', { roster: ['dan'] })).toEqual(['error unauthorized']);
    expect(drive.view('roster')).toEqual(['bob', 'cleo']);
  });

  it('is closed after its last part', () => {
    const drive = opened(first);
    drive.say('ann', 'roster', { roster: ['dan'] });
    expect(drive.answers('ann', 'roster', { roster: ['eve'] })).toEqual(['error closed']);
    expect(opened().answers('ann', 'roster', { roster: ['eve'] })).toEqual(['error closed']);
  });

  it('holds nobody twice, and 1,024 in all', () => {
    const drive = opened({ roster: Array.from({ length: 1_000 }, (_, i) => `m${i}`), more: true });
    const add = (roster: string[], more: boolean) => drive.say('ann', 'roster', { roster, more })[0];
    expect(add(['x', 'm7'], true)).toMatchObject({ code: 'invalid_envelope', reason: 'roster holds m7 a second time' });
    const names = Array.from({ length: 25 }, (_, i) => `n${i}`);
    expect(add(names, true)?.['reason']).toMatch(/^roster must hold at most 1024 names/);
    expect(add(names.slice(1), false)).toMatchObject({ type: 'barrier.accepted', roster_count: 1_024 });
    expect(drive.view('missing_count')).toBe(1_024);
  });

  it('with a quorum that the whole does not reach is refused at the last part, and can be put right', () => {
    const drive = opened({ ...first, fallback: 'proceed', quorum: 4 });
    expect(
      opened({ ...first, fallback: 'proceed', quorum: 4 }).answers('ann', 'roster', { roster: ['dan'], more: true }),
    ).toEqual(['barrier.accepted']);
    const [error] = drive.say('ann', 'roster', { roster: ['dan'] });
    expect(error).toMatchObject({ code: 'invalid_envelope' });
    expect(error?.['reason']).toMatch(/^quorum /);
    expect(drive.view('roster_complete')).toBe(false);
    expect(drive.answers('ann', 'roster', { roster: ['dan', 'eve'] })).toEqual(['barrier.accepted']);
    expect(drive.view('roster_complete')).toBe(true);
  });
});

describe('the log', () => {
  it.each([
    [32, true],
    [33, false],
  ])('has a roster of %d whole: %s', (count, whole) => {
    const roster = Array.from({ length: count }, (_, i) => `m${i}`);
    for (const verb of ['open', 'roster']) {
      const drive = verb === 'open' ? unopened() : opened({ roster: ['bob'], more: true });
      drive.say('ann', verb, { roster, timeout_seconds: 60, fallback: 'fail' });
      const [logged] = drive.events();
      expect(logged).toMatchObject(whole ? { type: `barrier.${verb}`, roster } : { roster_count: count });
      expect(logged).not.toHaveProperty(whole ? 'roster_count' : 'roster');
    }
  });
});

describe('an opening', () => {
  it.each([
    [{ roster: [] }, 'roster'],
    [{ roster: ['bob', 'bob'] }, 'roster'],
    [{ roster: ['bob'], quorum: 2, fallback: 'proceed' }, 'quorum'],
    [{ quorum: 1, fallback: 'fail' }, 'quorum'],
    [{ fallback: 'wait' }, 'fallback'],
    [{ timeout_seconds: 0 }, 'timeout_seconds'],
  ])('with %o is refused by its %s', (fields, field) => {
    const sane = { roster: ['bob', 'cleo'], timeout_seconds: 60, fallback: 'escalate' };
    const [error] = unopened().say('ann', 'open', { ...sane, ...fields });
    expect(error).toMatchObject({ code: 'invalid_envelope' });
    expect(error?.['reason']).toMatch(new RegExp(`^${field} `));
  });
});

describe('a repeat', () => {
  it('of a check-in gets who was in then, and who is in now', () => {
    const drive = opened();
    const checkin = drive.message('bob', 'checkin');
    const first = drive.send(checkin);
    expect(drive.send(checkin)).toEqual(first);
    drive.say('dan', 'leave');
    expect(drive.restart().send(checkin)).toMatchObject([
      { type: 'barrier.waiting', arrived: ['bob'], missing: ['cleo', 'dan'], dropped_count: 0 },
      { type: 'barrier.waiting', arrived: ['bob'], missing: ['cleo'], dropped_count: 1 },
    ]);
    drive.say('cleo', 'checkin');
    expect(drive.send(checkin).map(({ type }) => type)).toEqual(['barrier.waiting', 'barrier.released']);
  });

  it('of what ended it gets the end again, once', () => {
    const drive = opened({ roster: ['bob'] });
    const checkin = drive.message('bob', 'checkin');
    const first = drive.send(checkin);
    expect(first).toHaveLength(2);
    expect(drive.at(1).restart().send(checkin)).toEqual(first);
  });

  it('of a part of the roster adds nobody', () => {
    const drive = opened({ roster: ['bob'], more: true });
    const part = drive.message('ann', 'roster', { roster: ['cleo'], more: true });
    const first = drive.send(part);
    expect(drive.send(part)).toEqual(first);
    expect(drive.view('roster')).toEqual(['bob', 'cleo']);
  });
});
