import { describe, expect, it } from 'vitest';
import type { Received } from '../../src/envelope/calls.ts';
import { Drive } from './subject.ts';
import { subjects } from './protocols.ts';

describe.each(subjects)('the state of $name', (of) => {
  it('is JSON, and the same after it, at every step', () => {
    const drive = new Drive(of);
    for (const step of of.script) {
      drive.step(step);
      const { before, after } = of.carried(drive.host);
      expect(after).toStrictEqual(before);
      expect(JSON.parse(JSON.stringify(drive.host.view(undefined, drive.now)))).toStrictEqual(
        drive.host.view(undefined, drive.now),
      );
    }
  });

  it('is not changed in place: the same start gives the same end, twice', () => {
    const ends = [1, 2].map(() => JSON.stringify(new Drive(of).run(of.script).host.snapshot()));
    expect(ends[0]).toBe(ends[1]);
  });

  it('is described to an operator in plain sentences', () => {
    const drive = new Drive(of);
    for (const step of of.script) {
      drive.step(step);
      expect(drive.host.details()).toMatch(/^[^{}<>]+$/);
    }
  });
});

describe.each(subjects)('$name in a new run at every step', (of) => {
  it('answers, logs and ends as in one run', () => {
    const one = new Drive(of).run(of.script);
    const many = new Drive(of, { restarts: true }).run(of.script);
    expect(many.sent).toEqual(one.sent);
    expect(many.read('*', 0)).toEqual(one.read('*', 0));
    expect(JSON.parse(JSON.stringify(many.host.snapshot()))).toEqual(JSON.parse(JSON.stringify(one.host.snapshot())));
    expect(many.host.view(undefined, many.now)).toEqual(one.host.view(undefined, one.now));
  });

  it('keeps its configuration and its counters', () => {
    const drive = new Drive(of, { config: { max_waits: 7 } }).run(of.script);
    const before = drive.host.view(undefined, drive.now);
    drive.restart();
    expect(drive.host.view(undefined, drive.now)).toMatchObject({
      config: { max_waits: 7 },
      counters: before['counters'],
      identities: before['identities'],
    });
  });
});

describe.each(subjects)('$name with waits and a deadline pending', (of) => {
  it('ends the waits, carries the rest over, and wakes nobody twice', () => {
    for (let steps = 1; steps < of.script.length; steps++) {
      const drive = new Drive(of).run(of.script.slice(0, steps));
      const due = drive.host.nextDeadline()?.at;
      const ended: Received[] = [];
      for (const agent of ['zoe', 'yan']) {
        drive.receive({ reader: agent, agents: [agent], after: -1, wait_seconds: 20 }, (page) => ended.push(page));
      }
      expect(ended).toEqual([]);
      const cursor = drive.head;
      drive.host.drain(0.5);
      expect(ended.map(({ events, next, retry_after_seconds }) => ({ events, next, retry_after_seconds }))).toEqual(
        ['zoe', 'yan'].map(() => ({ events: [], next: cursor, retry_after_seconds: 0.5 })),
      );
      drive.restart();
      expect(drive.host.nextDeadline()?.at).toBe(due);
      expect(drive.host.view(undefined, drive.now)['waits']).toBe(0);
      drive.run(of.script.slice(steps));
      expect(ended).toHaveLength(2);
    }
  });
});

describe.each(subjects)('the mirror of $name', (of) => {
  it('publishes to the room what is logged, over runs, once', () => {
    const drive = new Drive(of, { restarts: true });
    const published: number[] = [];
    for (const step of of.script) {
      drive.step(step);
      const taken = drive.host.mirror.take(of.workflowId, drive.now);
      // The run ends before it knows whether they were published: the next one publishes them again.
      drive.restart();
      const again = drive.host.mirror.take(of.workflowId, drive.now);
      expect(again).toEqual(taken);
      drive.host.mirror.published();
      published.push(...again.map(({ seq }) => seq));
    }
    // A room is what the others are mirrored to.
    expect(published).toEqual(of.area === 'room' ? [] : drive.read('*', 0).events.map(({ seq }) => seq));
  });
});
