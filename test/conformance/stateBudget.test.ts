import { describe, expect, it } from 'vitest';
import { barrierSubject } from './samples/barrier.ts';
import { lockSubject } from './samples/locks.ts';
import { codeOf, Drive, type Said } from './subject.ts';

const KIB = 1024;
const BUDGET = 384 * KIB;

function bytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

describe('identities that are never forgotten', () => {
  it('are part of the budget of the state', () => {
    const drive = new Drive(barrierSubject);
    const [opening] = barrierSubject.script;
    if (!opening || !('say' in opening)) throw new Error('the first step must be a message');
    const { phase = '' } = opening.say;
    const members = Array.from({ length: 1_024 }, (_, i) => `m${i}`.padEnd(128, 'x'));
    const say = (type: string, from: string, fields: object = {}) =>
      codeOf(drive.request(drive.message({ type: `barrier.${type}`, from, phase, ...fields })));
    const terms = { timeout_seconds: 3_600, fallback: 'fail' };
    const codes = members.map((member, i) =>
      i === 0
        ? say('open', 'ann', { ...terms, roster: [member], more: true })
        : say('roster', 'ann', { roster: [member], more: i < 1_023 }),
    );
    // The first never comes, so that the others are not released.
    for (const member of members.slice(1)) codes.push(say('checkin', member));
    for (const member of members.slice(1)) codes.push(say('leave', member));
    expect(new Set(codes)).toEqual(new Set(['barrier.accepted', 'barrier.waiting', 'over_limit']));
    const { state, memory } = drive.host.snapshot();
    const pinned = bytes(Reflect.get(Object(memory), 'pinned'));
    // The state without them would have room for all.
    expect(bytes(state)).toBeLessThan(BUDGET / 2);
    expect(bytes(state) + pinned).toBeLessThanOrEqual(BUDGET);
    expect(bytes(state) + pinned).toBeGreaterThan(BUDGET * 0.9);
  });
});

describe('a lock manager whose budget is taken by rollbacks under way', () => {
  it('takes nothing more, but all that is given back', () => {
    const drive = new Drive(lockSubject);
    const request = (n: number, more: { readonly [field: string]: number } = {}): Said => ({
      type: 'lock.request',
      from: `a${n}`,
      resources: [`${n}-${'ü'.repeat(140)}`],
      lock_type: 'exclusive',
      lease_seconds: n % 2 === 0 ? 1 : 300,
      ...more,
    });
    let taken = 0;
    while (codeOf(drive.request(drive.message(request(taken)))) !== 'over_limit') taken += 1;
    drive.now += 1_000;
    drive.host.tick(drive.now);
    expect(drive.host.effects.length).toBeGreaterThan(0);
    expect(codeOf(drive.request(drive.message(request(taken))))).toBe('over_limit');
    const given = [1, 3, 5].map((n) =>
      codeOf(drive.request(drive.message({ type: 'lock.release', from: `a${n}`, lock_id: `l-${n + 1}` }))),
    );
    expect(given).toEqual(['lock.released', 'lock.released', 'lock.released']);
    // With three gone there is still no room: what was given back would not have fitted by itself.
    expect(codeOf(drive.request(drive.message(request(taken))))).toBe('over_limit');
  });
});
