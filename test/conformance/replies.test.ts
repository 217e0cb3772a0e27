import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/envelope/canonical.ts';
import type { Envelope } from '../../src/envelope/envelope.ts';
import { json } from '../../src/envelope/fields.ts';
import { CONFIGURE, Drive, isAcceptance, type Said } from './subject.ts';
import { subjects } from './protocols.ts';

/** An envelope as text; asked again under another id, the same reply answers that one. */
function text(envelope: Envelope): string {
  return canonicalJson(json.parse(JSON.parse(JSON.stringify({ ...envelope, in_reply_to: null }))));
}

describe.each(subjects)('replies of $name', (of) => {
  it('answer their message, come from synod, and go to its sender or to the room', () => {
    const drive = new Drive(of).run(of.script);
    for (const { raw, replies } of drive.sent) {
      expect(replies.length).toBeGreaterThan(0);
      for (const reply of replies) {
        expect(reply).toMatchObject({ from: 'synod', in_reply_to: raw.id });
        expect([undefined, raw.from]).toContain(reply.to);
        expect(reply.ts).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      }
    }
  });

  it('have the number under which they are logged, or none', () => {
    const drive = new Drive(of).run(of.script);
    const log = new Map(drive.read('*', 0).events.map(({ seq, envelope }) => [seq, envelope]));
    for (const { raw, replies, step } of drive.sent) {
      for (const reply of replies) {
        const logged = log.get(reply.seq ?? 0);
        const { id, from } = isAcceptance(reply) ? raw : reply;
        expect(logged && { id: logged.id, from: logged.from }).toEqual(step.quiet ? undefined : { id, from });
        expect(isAcceptance(reply) || step.quiet || isDeepStrictEqual(logged, reply)).toBe(true);
      }
    }
  });

  it('are to refusals: an error with code, reason and the id', () => {
    const drive = new Drive(of).run(of.script.slice(0, 1));
    const raw = drive.message(of.storm(0), { max_hops: 99 });
    const replies = drive.request(raw);
    expect(replies).toHaveLength(1);
    expect(replies[0]).toMatchObject({ type: 'error', code: 'invalid_envelope', in_reply_to: raw.id, to: raw.from });
    expect(replies[0]?.['reason']).toMatch(/^max_hops /);
    expect(replies[0]).not.toHaveProperty('seq');
  });

  it('are in the order of the request', () => {
    const drive = new Drive(of).run(of.script.slice(0, 1));
    const batch = [
      drive.message(of.storm(0)),
      null,
      drive.message({ type: 'zebra.run', from: 'ann' }),
      drive.message(CONFIGURE),
    ];
    const replies = drive.host.request(batch, drive.now);
    expect(replies.map((each) => each[0]?.in_reply_to)).toEqual(['m2', undefined, undefined, 'm4']);
    expect(replies.map((each) => each.length > 0)).toEqual([true, true, false, true]);
  });

  it('to nothing are nothing, and open nothing', () => {
    const drive = new Drive(of);
    expect(drive.host.request([], drive.now)).toEqual([]);
    drive.run(of.script.slice(0, 1));
    expect(drive.counter('accepted')).toBe(1);
  });
});

describe.each(subjects)('the log of $name', (of) => {
  it('is numbered from 1 without gaps, at every entry its own number', () => {
    const drive = new Drive(of, { restarts: true }).run(of.script);
    const { events } = drive.read('*', 0);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
    expect(events.map(({ envelope }) => envelope.seq)).toEqual(events.map((_, i) => i + 1));
  });

  it('has every accepted message as it was parsed, once, without to and reply_to', () => {
    const drive = new Drive(of).run(of.script, { to: 'zoe', reply_to: 'my-workflow', colour: 'red' });
    const { events } = drive.read('*', 0);
    for (const { raw, step } of drive.sent) {
      const logged = events.filter(({ envelope }) => envelope.id === raw.id && envelope.from === raw.from);
      expect(logged).toHaveLength(step.quiet ? 0 : 1);
      for (const { envelope } of logged) {
        const { to: _t, reply_to: _r, colour: _c, ...fields } = raw;
        expect(envelope).toMatchObject(fields);
        expect(Object.keys(envelope)).not.toEqual(expect.arrayContaining(['to']));
        expect(Object.keys(envelope)).not.toEqual(expect.arrayContaining(['reply_to']));
        expect(Object.keys(envelope)).not.toEqual(expect.arrayContaining(['colour']));
      }
    }
  });

  it('has a message before its replies', () => {
    const drive = new Drive(of).run(of.script);
    const { events } = drive.read('*', 0);
    for (const { raw, replies, step } of drive.sent.filter((sent) => !sent.step.quiet)) {
      const at = events.findIndex(({ envelope }) => envelope.id === raw.id && envelope.from === raw.from);
      const logged = replies.filter((reply) => !isAcceptance(reply));
      expect(events.slice(at + 1, at + 1 + logged.length).map(({ envelope }) => envelope)).toEqual(logged);
      expect(step.quiet).toBeUndefined();
    }
  });

  it('has no {area}.accepted: the message is the event, and the answer has its place', () => {
    const drive = new Drive(of).run(of.script.slice(0, 1));
    const before = drive.head;
    const configured = drive.message(CONFIGURE);
    expect(drive.request(configured)).toMatchObject([{ type: 'config.accepted', seq: before + 1 }]);
    expect(drive.head).toBe(before + 1);
    drive.run(of.script.slice(1));
    for (const { raw } of drive.sent) {
      drive.host.signal(raw, drive.now);
      drive.host.signal(drive.message(CONFIGURE), drive.now);
    }
    drive.host.signal(configured, drive.now);
    expect(drive.request(configured)).toMatchObject([{ type: 'config.accepted', seq: before + 1 }]);
    const logged = drive.read('*', 0).events.map(({ envelope }) => envelope);
    expect(logged.filter(({ type }) => type === 'config.set')).toHaveLength(1 + drive.sent.length);
    expect(logged.filter(isAcceptance)).toEqual([]);
  });

  it('has no refusal of an update', () => {
    const drive = new Drive(of).run(of.script.slice(0, 1));
    const { head } = drive;
    drive.request(drive.message(of.storm(0), { max_hops: 99 }));
    drive.request(drive.message(of.refused?.say ?? { ...CONFIGURE, from: 'ann' }));
    expect(drive.head).toBe(head);
  });

  it('has refusals by signal at most once a sender and second', () => {
    const drive = new Drive(of).run(of.script.slice(0, 1));
    const { head } = drive;
    const bad: Said[] = [{ ...of.storm(0), from: 'ann' }, of.refused?.say ?? { ...CONFIGURE, from: 'ann' }];
    const same = drive.message(of.refused?.say ?? CONFIGURE, { from: 'ann' });
    function storm(): void {
      for (const say of bad) drive.host.signal(drive.message({ ...say, from: 'ann' }, of.foreign[0]), drive.now);
      drive.host.signal(drive.message({ ...CONFIGURE, from: 'ann' }), drive.now);
      drive.host.signal({ ...same, ts: 5 }, drive.now);
      drive.host.signal(same, drive.now);
      drive.host.signal(same, drive.now);
    }
    storm();
    drive.now += 999;
    storm();
    expect(drive.head).toBe(head + 1);
    drive.host.signal(drive.message({ ...CONFIGURE, from: 'bob' }), drive.now);
    expect(drive.head).toBe(head + 2);
    drive.now += 1;
    storm();
    expect(drive.head).toBe(head + 3);
    expect(drive.read('ann', head).events.map(({ envelope }) => envelope.type)).toEqual(['error', 'error']);
  });
});

describe.each(subjects)('ids of what $name emits', (of) => {
  it('are each of one envelope', () => {
    const drive = new Drive(of);
    const seen = new Map<string, string>();
    function see(envelopes: readonly Envelope[]): void {
      for (const envelope of envelopes) {
        if (envelope.from !== 'synod' || 'source' in envelope) continue;
        expect(seen.get(envelope.id) ?? text(envelope)).toBe(text(envelope));
        seen.set(envelope.id, text(envelope));
      }
    }
    for (const step of of.script) {
      drive.step(step);
      drive.now += 1;
      see(drive.sent.flatMap(({ replies }) => replies));
      for (const { raw } of drive.sent) {
        see(drive.request(raw));
        see(drive.request({ ...raw, id: `${raw.id}b` }));
        see(drive.request({ ...raw, type: 'config.set', config: {} }));
        drive.host.signal(raw, drive.now);
      }
      see(drive.read('*', 0).events.map(({ envelope }) => envelope));
    }
    expect(seen.size).toBeGreaterThan(drive.sent.length);
  });
});

describe.each(subjects)('an agent of $name that only signals', (of) => {
  it('reads its answers by receive, from start to finish', () => {
    const drive = new Drive(of);
    const cursors = new Map<string, number>();
    for (const step of of.script) {
      if (!('say' in step)) {
        drive.step(step);
        continue;
      }
      const raw = drive.message(step.say);
      drive.host.signal(raw, drive.now);
      const page = drive.read(raw.from, cursors.get(raw.from) ?? 0);
      cursors.set(raw.from, page.next);
      const answers = page.events.filter(({ envelope }) => envelope.in_reply_to === raw.id);
      // What is only accepted is answered by the log: the message stands there.
      const accepted = step.answer.endsWith('.accepted');
      const answer = accepted ? page.events.find(({ envelope }) => envelope.id === raw.id) : answers[0];
      expect(answer?.envelope.type).toBe(step.quiet ? undefined : accepted ? raw.type : step.answer);
    }
    const byUpdate = new Drive(of).run(of.script);
    expect(drive.host.snapshot().state).toEqual(byUpdate.host.snapshot().state);
    expect(drive.host.snapshot().log).toEqual(byUpdate.host.snapshot().log);
  });
});
