import { describe, expect, it } from 'vitest';
import type { Envelope } from '../../src/envelope/envelope.ts';
import type { Received } from '../../src/envelope/calls.ts';
import { CONFIGURE, Drive } from './subject.ts';
import { subjects } from './protocols.ts';

const KIB = 1024;

function bytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

describe.each(subjects)('after 10,000 messages $name', (of) => {
  const drive = new Drive(of).run(of.script.slice(0, 1));
  const seqs: number[] = [];
  let largest = 0;
  let cursor = 0;

  function follow(): void {
    for (;;) {
      const { events, next, truncated } = drive.read('*', cursor);
      if (truncated) throw new Error('an event was evicted before it was read');
      if (next === cursor) return;
      for (const { seq, envelope } of events) note(seq, envelope);
      cursor = next;
    }
  }

  function note(seq: number, envelope: Envelope): void {
    seqs.push(seq);
    largest = Math.max(largest, bytes(envelope));
  }

  it('has answered every one', () => {
    let accepted = 0;
    for (let n = 0; n < 10_000; n++) {
      drive.now += 1;
      const raw = drive.message(of.storm(n), { idempotency_key: `${n}`.padEnd(128, 'x') });
      if (n % 2 === 0) drive.host.signal(raw, drive.now);
      else accepted += drive.request(raw).filter(({ type }) => type !== 'error').length > 0 ? 1 : 0;
      if (n % 16 === 0) follow();
      if (n % 1_000 === 0) drive.restart();
    }
    follow();
    expect(accepted).toBe(5_000);
  });

  it('has numbered its log without a gap', () => {
    expect(seqs.every((seq, i) => seq === i + 1)).toBe(true);
    // At least every other one is an event.
    expect(seqs.length >= 5_000).toBe(!of.silent);
  });

  it('has emitted nothing over 16 KiB', () => {
    expect(largest).toBeLessThanOrEqual(16 * KIB);
  });

  it('has kept every budget', () => {
    const { log, memory, state, mirror } = drive.host.snapshot();
    const view = drive.host.view(undefined, drive.now);
    expect(bytes(state)).toBeLessThanOrEqual(384 * KIB);
    expect(view['log']).toMatchObject({ head: seqs.length });
    expect(Reflect.get(Object(log), 'events')).toHaveProperty(
      'length',
      expect.toSatisfy((n: number) => n <= 1_000),
    );
    // A comma or two beyond the entries themselves.
    expect(bytes(Reflect.get(Object(log), 'events'))).toBeLessThanOrEqual(385 * KIB);
    expect(
      bytes(Reflect.get(Object(memory), 'recent')) + bytes(Reflect.get(Object(memory), 'spared')),
    ).toBeLessThanOrEqual(257 * KIB);
    expect(bytes(mirror)).toBeLessThanOrEqual(386 * KIB);
  });

  it('hands less than 2 MiB to its next run', () => {
    expect(bytes(drive.host.snapshot())).toBeLessThan(2 * KIB * KIB);
  });
});

describe.each(subjects)('the bounds of $name', (of) => {
  it('are 1,000 entries of the log: one more evicts the oldest', () => {
    const drive = new Drive(of).run(of.script.slice(0, 1));
    while (drive.head < 1_000) drive.request(drive.message(CONFIGURE));
    const exact = drive.head === 1_000;
    expect(drive.read('*', 0).truncated).toBe(!exact);
    drive.request(drive.message(CONFIGURE));
    expect(drive.read('*', 0, 1)).toMatchObject({ truncated: true, events: [{ seq: drive.head - 999 }] });
    expect(drive.read('*', drive.head - 1_000).truncated).toBe(false);
  });

  it('are 2,048 identities: one more is forgotten', () => {
    const drive = new Drive(of).run(of.script.slice(0, 1));
    const first = drive.message(CONFIGURE);
    drive.request(first);
    for (let n = 2; n <= 2_048; n++) drive.request(drive.message(CONFIGURE));
    drive.request(first);
    expect(drive.counter('repeated')).toBe(1);
    drive.request(drive.message(CONFIGURE));
    drive.request(first);
    expect(drive.counter('repeated')).toBe(1);
  });

  it.each([
    [{}, 3],
    [{ max_waits: 5 }, 5],
    [{ max_waits: 1 }, 1],
  ])('are, with %o, %d waits: one too many ends the oldest', (config, max) => {
    const drive = new Drive(of, { config }).run(of.script.slice(0, 1));
    const ended: (Received & { agent: string })[] = [];
    for (let i = 0; i <= max; i++) {
      const agent = `r${i}`;
      expect(ended).toEqual([]);
      drive.receive({ reader: agent, agents: [agent], after: -1, wait_seconds: 20 }, (page) =>
        ended.push({ ...page, agent }),
      );
    }
    expect(ended).toMatchObject([{ agent: 'r0', events: [], next: drive.head, truncated: false }]);
    expect(ended[0]?.retry_after_seconds).toBeGreaterThan(0);
    expect(drive.host.view(undefined, drive.now)['waits']).toBe(max);
  });

  it('are one wait a reader', () => {
    const drive = new Drive(of).run(of.script.slice(0, 1));
    const ended: Received[] = [];
    for (let i = 0; i < 5; i++) {
      drive.receive({ reader: 'host', agents: ['ann'], after: -1, wait_seconds: 20 }, (page) => ended.push(page));
    }
    expect(ended).toHaveLength(4);
    expect(ended.every((page) => page.retry_after_seconds === undefined)).toBe(true);
  });

  it('are so many seconds of waiting, then an empty page', () => {
    const drive = new Drive(of).run(of.script.slice(0, 1));
    const ended: Received[] = [];
    drive.receive({ agents: ['ann'], after: -1, wait_seconds: 5 }, (page) => ended.push(page));
    expect(drive.host.nextDeadline()).toMatchObject({ at: drive.now + 5_000 });
    drive.host.tick(drive.now + 4_999);
    expect(ended).toEqual([]);
    drive.host.tick(drive.now + 5_000);
    expect(ended).toMatchObject([{ events: [], next: drive.head, truncated: false }]);
  });

  it('are so many events a page, none of them lost', () => {
    const drive = new Drive(of).run(of.script);
    const whole = drive.read('*', 0);
    const read: unknown[] = [];
    for (let after = 0; after < whole.next;) {
      const page = drive.read('*', after, 2);
      expect(page.events.length).toBeLessThanOrEqual(2);
      read.push(...page.events);
      after = page.next;
    }
    expect(read).toEqual(whole.events);
  });
});

describe.each(subjects)('receive on $name', (of) => {
  it('answers a waiting agent with what is for it, and lets the others wait', () => {
    const drive = new Drive(of).run(of.script.slice(0, 1));
    const say = of.storm(0);
    const ended: (Received & { agent: string })[] = [];
    for (const agent of [say.from, 'operator:jo']) {
      drive.receive({ agents: [agent], after: -1, wait_seconds: 20 }, (page) => ended.push({ ...page, agent }));
    }
    // Addressed to its sender alone: a refusal by signal.
    drive.host.signal(drive.message(say, { max_hops: 99 }), drive.now);
    expect(ended.map(({ agent }) => agent)).toEqual([say.from]);
    expect(ended[0]?.events.map(({ envelope }) => envelope.type)).toEqual(['error']);
    drive.request(drive.message(of.silent ? CONFIGURE : of.storm(0)));
    expect(ended.map(({ agent }) => agent)).toEqual([say.from, 'operator:jo']);
  });

  it('says truncated beyond the head, and starts at the present with -1', () => {
    const drive = new Drive(of).run(of.script.slice(0, 1));
    const { head } = drive;
    expect(drive.read('ann', head + 5)).toMatchObject({ events: [], next: head, truncated: true });
    expect(drive.read('ann', -1)).toMatchObject({ events: [], next: head, truncated: false });
  });

  it('returns the time', () => {
    const drive = new Drive(of).run(of.script.slice(0, 1));
    drive.now += 1_234;
    expect(drive.read('ann', 0).now).toBe(new Date(drive.now).toISOString());
  });
});
