import { describe, expect, it } from 'vitest';
import { formatTimestamp } from '../../src/envelope/fields.ts';
import { codeOf, CONFIGURE, content, Drive, isAcceptance, type Sent, type Subject } from './subject.ts';
import { subjects } from './protocols.ts';

const LATE = { expires_at: '2000-01-01T00:00:00Z' };

/** Repeats a message, and checks that the first reply comes again and that nothing is done. */
function expectRepeated(drive: Drive, { raw, replies }: Sent, changes: { [field: string]: string | number }): void {
  const before = drive.standing;
  const accepted = drive.counter('accepted');
  const again = drive.request({ ...raw, ...changes });
  expect(again.slice(0, replies.length).map(content)).toEqual(replies.map(content));
  expect(again.map((reply) => reply.in_reply_to)).toEqual(again.map(() => changes['id'] ?? raw.id));
  expect(drive.standing).toBe(before);
  expect(drive.counter('accepted')).toBe(accepted);
}

/** Some message of the same sender with another body. */
function otherBody(of: Subject, { raw }: Sent): { [field: string]: unknown } {
  const other = of.messages.find(({ type }) => type !== raw.type && !of.operatorTypes.includes(type));
  if (!other) throw new Error(`${of.name} needs samples of two types`);
  return { ...raw, ...other, from: raw.from, id: raw.id };
}

describe.each(subjects)('repeats of $name', (of) => {
  const says = of.script.flatMap((step, i) => ('say' in step ? [{ i, type: step.say.type }] : []));

  it.each([false, true])(
    'get the first reply again, at once and ever after (a new run at each step: %s)',
    (restarts) => {
      const drive = new Drive(of, { restarts });
      for (const step of of.script) {
        drive.step(step);
        for (const sent of drive.sent) {
          expectRepeated(drive, sent, {});
          expectRepeated(drive, sent, { ts: 'later' });
          expectRepeated(drive, sent, { id: 'another', ts: 'later' });
          expectRepeated(drive, sent, { id: 'another', max_hops: 3, in_reply_to: 'x', to: 'zoe' });
          expectRepeated(drive, sent, LATE);
        }
      }
      expect(drive.sent).toHaveLength(says.length);
    },
  );

  it('are the same to the byte with the same id', () => {
    const drive = new Drive(of);
    for (const step of of.script) {
      drive.step(step);
      for (const { raw, replies } of drive.sent) expect(drive.request(raw).slice(0, replies.length)).toEqual(replies);
    }
  });

  it.each(says)('past its own expires_at get the first reply again: step $i, $type', ({ i }) => {
    const drive = new Drive(of).run(of.script.slice(0, i));
    const step = of.script[i];
    if (step) drive.step(step, { expires_at: formatTimestamp(drive.now + 1) });
    const sent = drive.sent.at(-1);
    drive.now += 1;
    drive.host.tick(drive.now);
    if (sent) expectRepeated(drive, sent, {});
    expect.hasAssertions();
  });

  it('get the first reply again in the run after one of revision 1, which logged {area}.accepted', () => {
    for (let steps = 1; steps <= of.script.length; steps++) {
      const drive = new Drive(of, { revision: 1 }).run(of.script.slice(0, steps));
      const { head } = drive;
      for (const sent of drive.sent) expectRepeated(drive, sent, {});
      drive.restart();
      drive.run(of.script.slice(steps));
      const later = drive.read('*', head).events.map(({ envelope }) => envelope);
      expect(later.filter(isAcceptance)).toEqual([]);
      for (const sent of drive.sent) expectRepeated(drive, sent, {});
      drive.restart();
      for (const sent of drive.sent) expectRepeated(drive, sent, {});
    }
  });

  it('under the key of another message are a conflict, and nothing is done', () => {
    for (const restarts of [false, true]) {
      const drive = new Drive(of, { restarts });
      for (const step of of.script) {
        drive.step(step);
        for (const sent of drive.sent) {
          const before = drive.standing;
          expect(codeOf(drive.request(otherBody(of, sent)))).toBe('idempotency_conflict');
          expect(drive.standing).toBe(before);
          expectRepeated(drive, sent, {});
        }
      }
    }
  });

  it('are the sender’s own: another sender may use the same key', () => {
    const drive = new Drive(of).run(of.script.slice(0, 1));
    const key = drive.sent[0]?.raw.idempotency_key ?? '';
    const other = drive.message({ ...of.storm(0), from: 'zoe' }, { idempotency_key: key });
    expect(codeOf(drive.request(other))).not.toBe('idempotency_conflict');
  });

  it('by signal get the reply logged again, but for {area}.accepted: the message stands in the log', () => {
    const drive = new Drive(of);
    for (const step of of.script) {
      drive.step(step);
      for (const { raw, replies } of drive.sent) {
        const after = drive.head;
        drive.host.signal(raw, drive.now);
        const logged = drive.read(raw.from, after).events.map(({ envelope }) => envelope);
        const again = replies.filter((reply) => !isAcceptance(reply));
        expect(logged.slice(0, again.length).map(({ type, in_reply_to }) => ({ type, in_reply_to }))).toEqual(
          again.map(({ type, in_reply_to }) => ({ type, in_reply_to })),
        );
      }
    }
  });

  it('with reply_to get the reply sent there, and nothing logged', () => {
    const drive = new Drive(of).run(of.script);
    for (const { raw, replies } of drive.sent) {
      const before = drive.standing;
      const waiting = drive.host.subscribers.outbox.length;
      drive.host.signal({ ...raw, reply_to: 'my-workflow' }, drive.now);
      const sent = drive.host.subscribers.outbox.slice(waiting);
      expect(sent.map(({ to }) => to)).toEqual(sent.map(() => 'my-workflow'));
      expect(sent.slice(0, replies.length).map(({ envelope }) => content(envelope))).toEqual(replies.map(content));
      expect(drive.standing).toBe(before);
    }
  });

  it('of what is never forgotten are known after any number of others', () => {
    const drive = new Drive(of).run(of.script);
    for (let n = 0; n < 3_000; n++) drive.request(drive.message({ ...CONFIGURE, from: `operator:${n}` }));
    drive.restart();
    const kept = drive.sent.filter(({ step }) => step.kept);
    for (const sent of kept) expectRepeated(drive, sent, {});
    expect(kept).toHaveLength(of.script.filter((step) => 'kept' in step).length);
  });
});

describe.each(subjects.filter(({ refused }) => refused))('refusals of $name', (of) => {
  it('are remembered: the same again, also when it would succeed now', () => {
    const drive = new Drive(of).run(of.script.slice(0, 1));
    const raw = drive.message(of.refused?.say ?? CONFIGURE);
    const first = drive.request(raw);
    expect(codeOf(first)).toBe(of.refused?.code);
    expect(drive.request(raw)).toEqual(first);
    expect(drive.request({ ...raw, ...LATE, ts: 'later' })).toEqual(first);
    drive.run(of.script.slice(1));
    drive.restart();
    expect(drive.request(raw)).toEqual(first);
  });
});

describe.each(subjects)('what the host refuses of $name', (of) => {
  it('is not remembered: put right, the same key is accepted', () => {
    const [first] = of.script;
    if (!first || !('say' in first)) throw new Error('the first step must be a message');
    // As its first message it would spoil what completes, so the second is tried.
    const drive = new Drive(of).run(of.script.slice(0, 1));
    const raw = drive.message(of.storm(0));
    expect(codeOf(drive.request({ ...raw, ...LATE }))).toBe('expired');
    expect(codeOf(drive.request({ ...raw, ...of.foreign[0] }))).toBe('invalid_envelope');
    expect(drive.request({ ...raw, max_hops: 0 })).toEqual([]);
    expect(codeOf(drive.request({ ...raw, type: 'config.set', config: {} }))).toBe('unauthorized');
    expect(codeOf(drive.request({ ...raw, ts: null }))).toBe('invalid_envelope');
    expect(codeOf(drive.request(raw))).not.toBe('error');
    expect(drive.counter('repeated')).toBe(0);
    expect(drive.counter('accepted')).toBe(2);
  });
});
