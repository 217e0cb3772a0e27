import { describe, expect, it } from 'vitest';
import type { Envelope } from '../envelope/envelope.ts';
import { Host } from './host.ts';
import { snapshotSchema } from './snapshot.ts';
import { toy, toyHost, TOY_ID } from './toy.fixture.ts';

type ToyHost = ReturnType<typeof toyHost>;

let count = 0;

function raw(verb: string, fields: object = {}): object {
  count += 1;
  return { id: `m${count}`, ts: '', type: `toy.${verb}`, from: 'ann', ...fields };
}

function say(host: ToyHost, verb: string, fields: object = {}, now = 0): Envelope[] {
  return host.request([raw(verb, fields)], now).flat();
}

function restored(host: ToyHost, now = 0): ToyHost {
  const snapshot = snapshotSchema(toy.state).parse(JSON.parse(JSON.stringify(host.snapshot())));
  return new Host(toy, { workflowId: TOY_ID, room: 'lab', config: {}, now, snapshot });
}

function types(host: ToyHost, agent = '*'): string[] {
  const found: string[] = [];
  host.receive({ agents: [agent], after: 0, wait_seconds: 0, limit: 200 }, 0, ({ events }) =>
    found.push(...events.map(({ envelope }) => envelope.type)),
  );
  return found;
}

describe('a message', () => {
  it('is answered {area}.accepted where no other answer is named', () => {
    expect(say(toyHost(), 'put', { item: 'a' })).toMatchObject([{ type: 'toy.accepted', to: 'ann', seq: 1 }]);
  });

  it('that is answered quietly is not logged, nor is its answer', () => {
    const host = toyHost();
    expect(say(host, 'ask')).toMatchObject([{ type: 'toy.size', size: 0 }]);
    expect(types(host)).toEqual([]);
  });

  it('repeated gets its first answer, then what became of it', () => {
    const host = toyHost();
    const ask = raw('ask');
    host.request([ask], 0);
    say(host, 'put', { item: 'a' });
    expect(host.request([ask], 5).flat()).toMatchObject([
      { type: 'toy.size', size: 0, ts: '1970-01-01T00:00:00.000Z' },
      { type: 'toy.now', size: 1, ts: '1970-01-01T00:00:00.005Z' },
    ]);
  });

  it('of operators alone is theirs', () => {
    const host = toyHost();
    expect(say(host, 'admin')).toMatchObject([{ type: 'error', code: 'unauthorized' }]);
    expect(say(host, 'admin', { from: 'operator:jo' })).toMatchObject([{ type: 'toy.accepted' }]);
  });
});

describe('the budget of the state', () => {
  /** A host whose state is so many bytes of JSON from 384 KiB. */
  function nearlyFull(left: number): ToyHost {
    const host = toyHost();
    const size = () => Buffer.byteLength(JSON.stringify(host.snapshot().state));
    say(host, 'put', { item: '' });
    for (let rest = 384 * 1024 - left - size(); rest > 0; rest = 384 * 1024 - left - size()) {
      // An item costs its quotes and a comma, too; the last two share what is left.
      const item = rest > 30_000 ? 15_000 : rest > 15_000 ? 10_000 : rest - 3;
      say(host, 'put', { item: 'x'.repeat(item) });
    }
    expect(size()).toBe(384 * 1024 - left);
    return host;
  }

  it('may be used up to the last byte', () => {
    expect(say(nearlyFull(100), 'put', { item: 'x'.repeat(97) })).toMatchObject([{ type: 'toy.accepted' }]);
  });

  it.each(['x'.repeat(98), 'é'.repeat(49)])(
    'is not passed by one: nothing changes, and it may be tried again',
    (item) => {
      const host = nearlyFull(100);
      const put = raw('put', { item });
      const before = JSON.stringify(host.snapshot().state);
      expect(host.request([put], 0).flat()).toMatchObject([{ type: 'error', code: 'over_limit' }]);
      expect(JSON.stringify(host.snapshot().state)).toBe(before);
      // Not remembered: with room for it, the same key is accepted.
      expect(host.request([{ ...put, item: 'x' }], 0).flat()).toMatchObject([{ type: 'toy.accepted' }]);
    },
  );

  it('does not stand in the way of what needs none', () => {
    expect(say(nearlyFull(0), 'ask')).toMatchObject([{ type: 'toy.size' }]);
  });
});

describe('deadlines', () => {
  it('that have passed all happen, one after the other, before the message that is handled then', () => {
    const host = toyHost();
    for (const at of [10, 10, 20]) say(host, 'alarm', { at });
    say(host, 'ask', {}, 20);
    expect(types(host).slice(-3)).toEqual(['toy.rang', 'toy.rang', 'toy.rang']);
    expect(host.nextDeadline()).toBeNull();
  });

  it('that are over when they are set happen at the next tick', () => {
    const host = toyHost({ now: 100 });
    say(host, 'alarm', { at: 50 }, 100);
    expect(host.nextDeadline()?.at).toBe(50);
    host.tick(100);
    expect(types(host)).toContain('toy.rang');
  });

  it('are the nearest of the protocol’s and the readers’', () => {
    const host = toyHost();
    say(host, 'alarm', { at: 7_000 });
    host.receive({ agents: ['ann'], after: -1, wait_seconds: 5, limit: 1 }, 0, () => undefined);
    expect(host.nextDeadline()).toEqual({ at: 5_000, summary: 'a reader waits', passing: true });
    host.tick(5_000);
    expect(host.nextDeadline()).toEqual({ at: 7_000, summary: 'an alarm' });
  });
});

describe('effects', () => {
  it('have a key of the workflow and its start, and are carried over until they end', () => {
    const host = toyHost({ now: 7 });
    say(host, 'admin', { from: 'operator:jo' });
    const effects = [{ key: `${TOY_ID}:7-1`, name: 'escalate', input: { why: 'asked' } }];
    expect(host.effects).toEqual(effects);
    const next = restored(host);
    expect(next.effects).toEqual(effects);
    next.effectEnded('another', undefined, 0);
    expect(next.effects).toEqual(effects);
    next.effectEnded(`${TOY_ID}:7-1`, 'no network', 0);
    expect(next.effects).toEqual([]);
  });
});

describe('effects that an earlier version left', () => {
  const left = (keys: string[]) => {
    const { effects_issued: _, ...snapshot } = toyHost().snapshot();
    const effects = keys.map((key) => ({ key, name: 'escalate', input: { why: 'left' } }));
    const parsed = snapshotSchema(toy.state).parse(JSON.parse(JSON.stringify({ ...snapshot, effects })));
    return new Host(toy, { workflowId: TOY_ID, room: 'lab', config: {}, now: 9, snapshot: parsed });
  };

  it('keep their keys; those that shared one get keys of their own, but for the first', () => {
    const host = left([`${TOY_ID}:5`, `${TOY_ID}:5.1`, `${TOY_ID}:5`, `${TOY_ID}:6`, `${TOY_ID}:5`]);
    say(host, 'admin', { from: 'operator:jo' });
    const keys = [`${TOY_ID}:5`, `${TOY_ID}:5.1`, `${TOY_ID}:0-1`, `${TOY_ID}:6`, `${TOY_ID}:0-2`, `${TOY_ID}:0-3`];
    expect(host.effects.map(({ key }) => key)).toEqual(keys);
    expect(restored(host).effects.map(({ key }) => key)).toEqual(keys);
  });

  it('have keys of the log’s head in a run that began with it', () => {
    const host = new Host(toy, { workflowId: TOY_ID, room: 'lab', config: {}, now: 9, revision: 1 });
    say(host, 'admin', { from: 'operator:jo' });
    expect(host.effects.map(({ key }) => key)).toEqual([`${TOY_ID}:2`]);
  });
});

describe('a sender that is a workflow', () => {
  const reply_to = 'my-workflow';
  const deliveries = (host: ToyHost) => host.subscribers.outbox.map(({ to, envelope }) => `${to} ${envelope.type}`);

  it('is sent its answers, one envelope each, by update and by signal', () => {
    const host = toyHost();
    say(host, 'ask', { reply_to });
    host.signal(raw('no', { reply_to }), 0);
    host.signal(raw('ask', { reply_to, ts: 5 }), 0);
    expect(deliveries(host)).toEqual(['my-workflow toy.size', 'my-workflow error']);
  });

  it('is sent what is for it or for the room as long as it is involved', () => {
    const host = toyHost();
    say(host, 'put', { item: 'ann', reply_to });
    say(host, 'alarm', { at: 10, from: 'bob' });
    host.tick(10);
    expect(deliveries(host)).toEqual(['my-workflow toy.accepted', 'my-workflow toy.rang']);
    expect(restored(host).subscribers.outbox).toEqual(host.subscribers.outbox);
  });

  it('is forgotten once it is not', () => {
    const host = toyHost();
    say(host, 'alarm', { at: 10, reply_to });
    host.tick(10);
    expect(deliveries(host)).toEqual(['my-workflow toy.accepted']);
  });

  it('is not remembered for what was refused', () => {
    const host = toyHost();
    say(host, 'no', { reply_to });
    expect(host.subscribers.size).toBe(0);
  });
});

describe('the mirror', () => {
  it('publishes the urgent ones of a storm whole', () => {
    const host = toyHost();
    for (let i = 0; i < 200; i++) say(host, 'put', { item: '' });
    say(host, 'alarm', { at: 10 });
    host.tick(10);
    const events = host.mirror.take(TOY_ID, 10).map(({ envelope }) => envelope.type);
    expect(events).toHaveLength(201);
    expect(events.slice(-2)).toEqual(['toy.rang', 'synod.digest']);
  });
});

describe('what never completes', () => {
  it('runs on and has no result', () => {
    const host = toyHost();
    expect(host.phase(1e12)).toBe('running');
    expect(host.result).toBeUndefined();
    expect(host.row).toBeUndefined();
  });

  it('shows its counters, sizes and configuration', () => {
    const host = toyHost({ config: { retain: 5, nonsense: 1 } });
    say(host, 'put', { item: 'a' });
    say(host, 'no');
    say(host, 'zzz');
    expect(host.view(undefined, 7)).toMatchObject({
      type: 'toy',
      room: 'lab',
      size: 1,
      config: { retain: 5 },
      config_ignored: ['nonsense'],
      counters: { received: 3, accepted: 1, refused: 1, unhandled: 1, repeated: 0, hops_exhausted: 0 },
      log: { head: 1, entries: 1 },
      identities: { identities: 2 },
      now: '1970-01-01T00:00:00.007Z',
    });
    expect(host.details()).toContain('1 accepted, 1 refused');
  });
});
