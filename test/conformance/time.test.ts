import { describe, expect, it } from 'vitest';
import { formatTimestamp } from '../../src/envelope/fields.ts';
import { codeOf, Drive, START } from './subject.ts';
import { subjects } from './protocols.ts';

describe.each(subjects)('expires_at of a message to $name', (of) => {
  it.each([
    { offset: -1, expired: false },
    { offset: 0, expired: true },
    { offset: 1, expired: true },
  ])('at its time $offset ms: expired = $expired', ({ offset, expired }) => {
    const drive = new Drive(of).run(of.script.slice(0, 1));
    const after = drive.head;
    const say = () => drive.message(of.storm(0), { expires_at: formatTimestamp(START + 10) });
    drive.now = START + 10 + offset;
    drive.host.signal(say(), drive.now);
    const logged = drive.read(of.storm(0).from, after).events.map(({ envelope }) => envelope['code']);
    expect(logged.includes('expired')).toBe(expired);
    expect(codeOf(drive.request(say())) === 'expired').toBe(expired);
  });

  it('counts in any offset, and to the fraction', () => {
    const drive = new Drive(of).run(of.script.slice(0, 1));
    drive.now = START + 1;
    const at = (expires_at: string) => codeOf(drive.request(drive.message(of.storm(0), { expires_at })));
    expect(at('2026-01-01T01:00:00.001+01:00')).toBe('expired');
    expect(at('2025-12-31T23:00:00.001-01:00')).toBe('expired');
    expect(at('2026-01-01T00:00:00.001000001Z')).not.toBe('expired');
  });

  it('is measured by the time of Temporal, never by ts', () => {
    const drive = new Drive(of).run(of.script.slice(0, 1));
    const expires_at = formatTimestamp(START + 10);
    expect(codeOf(drive.request(drive.message(of.storm(0), { expires_at, ts: '2099-01-01T00:00:00Z' })))).not.toBe(
      'expired',
    );
  });
});

const deadlines = subjects.flatMap((of) => of.deadlines.map((sample) => ({ of, protocol: of.name, ...sample })));

describe.each(deadlines)('$protocol: $name', ({ of, steps, say, before, after }) => {
  function due(): { drive: Drive; at: number } {
    const drive = new Drive(of).run(steps);
    const at = drive.host.nextDeadline()?.at;
    if (at === undefined) throw new Error('the steps lead to no deadline');
    return { drive, at };
  }

  it.each([
    { offset: -1, answer: before },
    { offset: 0, answer: after },
    { offset: 1, answer: after },
  ])('a message $offset ms from it gets $answer, even before the timer has fired', ({ offset, answer }) => {
    const { drive, at } = due();
    drive.now = at + offset;
    expect(codeOf(drive.request(drive.message(say)))).toBe(answer);
  });

  it('nothing happens a millisecond before; at it, the next one comes later', () => {
    const { drive, at } = due();
    const standing = drive.standing;
    drive.now = at - 1;
    drive.host.tick(drive.now);
    expect(drive.standing).toBe(standing);
    expect(drive.host.nextDeadline()?.at).toBe(at);
    drive.now = at;
    drive.host.tick(drive.now);
    expect(drive.standing).not.toBe(standing);
    expect(drive.host.nextDeadline()?.at ?? Infinity).toBeGreaterThan(at);
  });

  it('happens once, whoever comes first', () => {
    const { drive, at } = due();
    drive.now = at;
    drive.host.tick(at);
    const standing = drive.standing;
    drive.host.tick(at);
    drive.restart();
    drive.host.tick(at);
    expect(drive.standing).toBe(standing);
  });

  it('is the same in the next run', () => {
    const { drive, at } = due();
    drive.restart();
    expect(drive.host.nextDeadline()?.at).toBe(at);
  });

  it('is not put off by a clock that goes back', () => {
    const { drive, at } = due();
    drive.host.tick(at);
    drive.now = at - 1_000;
    expect(codeOf(drive.request(drive.message(say)))).toBe(after);
  });

  it('says in a line what it is for', () => {
    expect(due().drive.host.nextDeadline()?.summary).toMatch(/^[^\n]{5,300}$/);
  });
});

describe.each(subjects.filter(({ completes }) => completes))('$name, once it has ended', (of) => {
  it.each([
    [{}, 60_000],
    [{ linger_seconds: 5 }, 5_000],
    [{ linger_seconds: 0 }, 0],
  ])('with %o answers for another %d ms, then completes with its result', (config, lingerMs) => {
    const drive = new Drive(of, { config }).run(of.script);
    const end = drive.now + lingerMs;
    expect(drive.host.nextDeadline()?.at).toBe(end);
    expect(drive.host.phase(end - 1)).toBe('running');
    expect(drive.host.phase(end)).toBe('ended');
    const last = drive.sent.at(-1);
    const opening = drive.sent[0]?.raw;
    expect(drive.host.result?.outcome).toEqual(last?.replies.at(-1));
    expect(drive.host.result?.opened).toMatchObject({ from: opening?.from, idempotency_key: opening?.idempotency_key });
    drive.restart();
    expect(drive.host.result?.outcome).toEqual(last?.replies.at(-1));
  });

  it('refuses what is new as closed', () => {
    const drive = new Drive(of).run(of.script);
    for (const say of of.messages.slice(1)) {
      expect(['closed', 'already_decided', 'unauthorized']).toContain(codeOf(drive.request(drive.message(say))));
    }
  });
});
