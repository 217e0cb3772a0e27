import { describe, expect, it } from 'vitest';
import { subjects } from './protocols.ts';
import { codeOf, Drive, type Raw, type Subject } from './subject.ts';

// What stands before the opening of a workflow in its very first request.

function early(of: Subject, revision?: number): { drive: Drive; before: Raw; opening: Raw; opened: string } {
  const [first] = of.script;
  if (!first || !('say' in first)) throw new Error('the first step must be a message');
  const drive = new Drive(of, revision === undefined ? {} : { revision });
  return { drive, before: drive.message(of.storm(0)), opening: drive.message(first.say), opened: first.answer };
}

/** The first answers to the messages of one request, by type or code. */
function codes(drive: Drive, ...batch: readonly unknown[]): unknown[] {
  return drive.host.request(batch, drive.now).map(codeOf);
}

describe.each(subjects.filter(({ completes }) => completes))('before its opening in the same request, $name', (of) => {
  it('answers unknown, remembers nothing, and is opened', () => {
    const { drive, before, opening, opened } = early(of);
    expect(codes(drive, before, opening)).toEqual(['unknown', opened]);
    expect(drive.counter('accepted')).toBe(1);
    // The very same message is decided anew, as if it had never been sent.
    const other = early(of);
    codes(other.drive, other.opening);
    const decided = codes(other.drive, other.before);
    expect(decided).not.toContain('unknown');
    expect(codes(drive, before)).toEqual(decided);
    expect(drive.counter('repeated')).toBe(0);
    expect(drive.host.snapshot().state).toEqual(other.drive.host.snapshot().state);
  });

  it('answers the same message that comes again after the opening, in both places', () => {
    const { drive, before, opening, opened } = early(of);
    const [first, second, third] = codes(drive, before, opening, before);
    expect(second).toBe(opened);
    expect([first, first === 'unknown']).toEqual([third, false]);
  });

  it('is opened by a later opening where an earlier one is refused', () => {
    const { drive, before, opening, opened } = early(of);
    const bad = { ...opening, max_hops: 99 };
    expect(codes(drive, bad, before, opening)).toEqual(['invalid_envelope', 'unknown', opened]);
  });

  it('decides what stands after an opening, also before another', () => {
    const { drive, before, opening, opened } = early(of);
    const again = { ...opening, id: 'another', idempotency_key: 'another' };
    const [first, second, third] = codes(drive, opening, before, again);
    expect([first, third]).toEqual([opened, 'idempotency_conflict']);
    expect(['unknown', 'closed']).not.toContain(second);
  });

  it('answers closed for good where no opening comes, or none that is accepted', () => {
    for (const bad of [{ max_hops: 99 }, undefined]) {
      const { drive, before, opening } = early(of);
      const batch = bad ? [before, { ...opening, ...bad }] : [before];
      expect(codes(drive, ...batch)[0]).toBe('closed');
      expect(codes(drive, opening, before)).toEqual(['closed', 'closed']);
      expect(drive.counter('repeated')).toBe(1);
      expect(drive.host.phase(drive.now + 60_000)).toBe('unopened');
    }
  });

  it('answers closed for good in a run of revision 1, which is replayed as it was', () => {
    const { drive, before, opening, opened } = early(of, 1);
    expect(codes(drive, before, opening)).toEqual(['closed', opened]);
    expect(codes(drive, before)).toEqual(['closed']);
  });
});
