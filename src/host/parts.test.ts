import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { whole } from '../envelope/fields.ts';
import type { Envelope } from '../envelope/envelope.ts';
import { Config } from './config.ts';
import { RefusalQuota } from './quota.ts';
import { fit, refused, Stamp } from './stamp.ts';
import { Subscribers } from './subscribers.ts';

function envelopeOf(id: string, to?: string): Envelope {
  return { type: 'toy.event', id, from: 'synod', ts: '', ...(to === undefined ? {} : { to }) };
}

describe('configuration', () => {
  const keys = { retain: whole(1, 1_000) };

  it('takes known keys and shows the others', () => {
    const config = new Config({ keys, completes: true }, { retain: 5, max_waits: 7, linger_seconds: 0, colour: 'red' });
    expect(config.values).toEqual({ retain: 5, max_waits: 7, linger_seconds: 0 });
    expect(config.ignored).toEqual(['colour']);
    expect([config.retain, config.maxWaits, config.lingerMs]).toEqual([5, 7, 0]);
  });

  it('has the defaults of the contract', () => {
    const config = new Config({ keys, completes: true }, {});
    expect([config.retain, config.maxWaits, config.lingerMs]).toEqual([undefined, 3, 60_000]);
  });

  it('merges by key; null removes', () => {
    const config = new Config({ keys, completes: false }, { retain: 5, max_waits: 7 });
    config.merge({ retain: null });
    expect(config.values).toEqual({ max_waits: 7 });
    config.merge({ max_waits: 4 });
    expect(config.values).toEqual({ max_waits: 4 });
  });

  it.each([
    ['retain', [0, 1_001, 1.5, '5', true, {}]],
    ['max_waits', [0, -1, '3', [3]]],
    ['linger_seconds', [-1, '60', 30 * 86_400 + 1]],
    ['__proto__', [{}]],
    ['toString', [1]],
  ])('ignores a bad %s', (key, values) => {
    for (const value of values) {
      const config = new Config({ keys, completes: true }, { retain: 5 });
      config.merge(Object.fromEntries([[key, value]]));
      expect(config.values).toEqual({ retain: 5 });
      expect(config.ignored).toEqual([key]);
    }
  });

  it('is at most 64 KiB: what is larger is named, and a change to it changes nothing', () => {
    const wide = { keys: { text: z.string(), other: z.string() }, completes: false };
    const at = (length: number) =>
      new Config(wide, { text: '日'.repeat(length), other: 'x', unknown: 'y'.repeat(100_000) });
    const exact = Math.floor((64 * 1024 - '{"text":"","other":"x"}'.length) / 3);
    expect(at(exact).fault).toBeUndefined();
    expect(at(exact + 1).fault).toMatch(/^config\.text makes config larger than 65536 bytes/);
    const config = at(10);
    expect(config.merge({ other: 'z'.repeat(70_000) })).toMatch(/^config\.other /);
    expect(config.values).toEqual({ text: '日'.repeat(10), other: 'x' });
    expect(config.merge({ other: 'z' })).toBeUndefined();
    expect(config.values).toEqual({ text: '日'.repeat(10), other: 'z' });
  });

  it('has linger_seconds only where it completes', () => {
    expect(new Config({ keys, completes: false }, { linger_seconds: 5 }).ignored).toEqual(['linger_seconds']);
  });
});

describe('refusals by signal', () => {
  it('are logged once a sender and second', () => {
    const quota = new RefusalQuota();
    expect([quota.allows('ann', 0), quota.allows('ann', 999), quota.allows('bob', 999)]).toEqual([true, false, true]);
    expect([quota.allows('ann', 1_000), quota.allows('ann', 1_001)]).toEqual([true, false]);
  });
});

describe('the stamp', () => {
  const stamp = new Stamp('synod:lab:locks');
  const answers = { id: 'm', from: 'ann' };

  it('says who, when, what it answers and where it stands', () => {
    expect(stamp.logged({ type: 'toy.size', to: 'ann', size: 1 }, 7, 0, answers)).toMatchObject({
      type: 'toy.size',
      from: 'synod',
      to: 'ann',
      ts: '1970-01-01T00:00:00.000Z',
      in_reply_to: 'm',
      seq: 7,
      size: 1,
    });
  });

  it('gives an unlogged one no number', () => {
    expect(stamp.unlogged({ type: 'toy.size' }, 0, 0, answers)).not.toHaveProperty('seq');
  });

  it('gives ids that no two emissions of the room share', () => {
    const other = new Stamp('synod:lab:room');
    const ids = [stamp, other].flatMap((each) => [
      each.logged({ type: 'a.b' }, 1, 0).id,
      each.logged({ type: 'a.b' }, 2, 0).id,
      each.unlogged({ type: 'a.b' }, 0, 0, answers).id,
      each.unlogged({ type: 'a.b' }, 1, 0, answers).id,
      each.unlogged({ type: 'a.b' }, 0, 0, { ...answers, id: 'n' }).id,
      each.unlogged({ type: 'a.b' }, 0, 0, { ...answers, from: 'bob' }).id,
    ]);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => id.length <= 128)).toBe(true);
  });

  it('makes a refusal an error with code and reason', () => {
    expect(refused({ code: 'held', reason: 'no' }, 'ann')).toEqual({
      type: 'error',
      to: 'ann',
      code: 'held',
      reason: 'no',
    });
    expect(refused({ code: 'held', reason: 'no' }, undefined)).not.toHaveProperty('to');
  });
});

describe('an envelope that is emitted', () => {
  const bytes = (envelope: Envelope) => Buffer.byteLength(JSON.stringify(envelope));

  it('is whole at 16 KiB', () => {
    const base = { ...envelopeOf('i'), text: '' };
    const full = { ...base, text: 'x'.repeat(16_384 - bytes(base)) };
    expect(fit(full)).toBe(full);
  });

  it('leaves out its largest free field past that, and names it', () => {
    const big = {
      ...envelopeOf('i', 'ann'),
      task_id: '日'.repeat(200),
      text: 'é'.repeat(8_000),
      note: 'n',
      title: 't',
    };
    const small = fit(big);
    expect(bytes(small)).toBeLessThanOrEqual(16_384);
    expect(small).toEqual({
      ...envelopeOf('i', 'ann'),
      task_id: '日'.repeat(200),
      note: 'n',
      title: 't',
      omitted: ['text'],
    });
  });

  it('leaves out as many as it must', () => {
    const small = fit({ ...envelopeOf('i'), a: 'x'.repeat(17_000), b: 'x'.repeat(16_900), c: 'x' });
    expect(small).toEqual({ ...envelopeOf('i'), c: 'x', omitted: ['a', 'b'] });
  });
});

describe('agents that are workflows', () => {
  it('are sent what is for them and what is for the room', () => {
    const subscribers = new Subscribers();
    subscribers.subscribe('ann', 'wf-a');
    subscribers.subscribe('bob', 'wf-b');
    subscribers.send(envelopeOf('1', 'ann'));
    subscribers.send(envelopeOf('2'));
    subscribers.send(envelopeOf('3', 'cleo'));
    expect(subscribers.outbox.map(({ to, envelope }) => `${to} ${envelope.id}`)).toEqual([
      'wf-a 1',
      'wf-a 2',
      'wf-b 2',
    ]);
  });

  it('are sent it once where one workflow is several agents', () => {
    const subscribers = new Subscribers();
    subscribers.subscribe('ann', 'wf');
    subscribers.subscribe('bob', 'wf');
    subscribers.send(envelopeOf('1'));
    expect(subscribers.outbox).toHaveLength(1);
  });

  it('are the latest 1,024', () => {
    const subscribers = new Subscribers();
    for (let i = 0; i < 1_025; i++) subscribers.subscribe(`a${i}`, `wf-${i}`);
    expect(subscribers.size).toBe(1_024);
    for (const to of ['a0', 'a1']) subscribers.send(envelopeOf('1', to));
    expect(subscribers.outbox.map(({ to }) => to)).toEqual(['wf-1']);
  });

  it('are dropped at the first failed delivery, with what waits for them', () => {
    const subscribers = new Subscribers();
    subscribers.subscribe('ann', 'wf-a');
    subscribers.subscribe('bob', 'wf-b');
    subscribers.send(envelopeOf('1'));
    subscribers.unreachable('wf-a');
    subscribers.send(envelopeOf('2'));
    expect(subscribers.outbox.map(({ to, envelope }) => `${to} ${envelope.id}`)).toEqual(['wf-b 1', 'wf-b 2']);
  });

  it('are forgotten when they wait for nothing any more, yet get what was for them', () => {
    const subscribers = new Subscribers();
    subscribers.subscribe('ann', 'wf-a');
    subscribers.send(envelopeOf('1', 'ann'));
    subscribers.prune(() => false);
    expect([subscribers.size, subscribers.outbox.length]).toEqual([0, 1]);
  });

  it('get each envelope once, in order, over a snapshot', () => {
    const subscribers = new Subscribers();
    subscribers.subscribe('ann', 'wf-a');
    for (const id of ['1', '2', '3']) subscribers.send(envelopeOf(id));
    const first = subscribers.outbox[0];
    if (first) subscribers.delivered(first);
    const next = new Subscribers(subscribers.snapshot());
    next.send(envelopeOf('4', 'ann'));
    expect(next.outbox.map(({ envelope }) => envelope.id)).toEqual(['2', '3', '4']);
  });

  it('hold an envelope to a thousand workflows once, and three such envelopes whole', () => {
    const subscribers = new Subscribers();
    for (let i = 0; i < 1_000; i++) subscribers.subscribe(`a${i}`, `wf-${i}`);
    const one = { ...envelopeOf('1'), text: 'x'.repeat(15 * 1024) };
    for (const id of ['1', '2', '3']) subscribers.send({ ...one, id });
    expect(subscribers.outbox).toHaveLength(3_000);
    expect(JSON.stringify(subscribers.snapshot()).length).toBeLessThan(128 * 1024);
    const restored = new Subscribers(subscribers.snapshot());
    expect(restored.outbox).toEqual(subscribers.outbox);
  });

  it('lose the oldest past 192 KiB that wait, and count right whatever goes first', () => {
    const subscribers = new Subscribers();
    for (const agent of ['ann', 'bob']) subscribers.subscribe(agent, `wf-${agent}`);
    const large = Array.from({ length: 40 }, (_, i) => ({ ...envelopeOf(`${i}`), text: 'x'.repeat(10 * 1024) }));
    for (const one of large) subscribers.send(one);
    const bytes = () => Buffer.byteLength(JSON.stringify(subscribers.snapshot().outbox));
    expect(bytes()).toBeLessThanOrEqual(192 * 1024 + 2_000);
    expect(subscribers.outbox.at(-1)?.envelope.id).toBe('39');
    expect(subscribers.outbox.length).toBeGreaterThanOrEqual(34);
    // Half of the deliveries go, envelopes stay: no room has been won for more than their names.
    for (const delivery of subscribers.outbox.filter(({ to }) => to === 'wf-ann')) subscribers.delivered(delivery);
    for (const one of large) subscribers.send({ ...one, id: `again-${one.id}` });
    expect(bytes()).toBeLessThanOrEqual(192 * 1024 + 2_000);
    for (const delivery of subscribers.outbox.slice()) subscribers.delivered(delivery);
    for (const one of large.slice(0, 16)) subscribers.send(one);
    expect(subscribers.outbox).toHaveLength(32);
  });

  it('forget the oldest workflows past 128 KiB of names', () => {
    const subscribers = new Subscribers();
    for (let i = 0; i < 1_000; i++) subscribers.subscribe(`a${i}`, `${i}-${'w'.repeat(245)}`);
    const { agents } = subscribers.snapshot();
    expect(agents.flat().join('').length).toBeLessThanOrEqual(128 * 1024);
    expect(agents.at(-1)?.[0]).toBe('a999');
    expect(agents.length).toBeGreaterThan(500);
  });
});
