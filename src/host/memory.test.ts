import { describe, expect, it } from 'vitest';
import { Memory, type Memo } from './memory.ts';

function memo(i: number, verdict: Memo['verdict'] = ['ok']): Memo {
  return { body: 'b', verdict, seq: i, at: i };
}

function filled(entries: number, sender: (i: number) => string = () => 'ann'): Memory {
  const memory = new Memory();
  for (let i = 1; i <= entries; i++) memory.remember(sender(i), `k${i}`, memo(i), false);
  return memory;
}

describe('what is remembered', () => {
  it('is known by sender and key', () => {
    const memory = filled(2);
    expect(memory.recall('ann', 'k2')).toEqual(memo(2));
    expect(memory.recall('bob', 'k2')).toBeUndefined();
    expect(memory.recall('ann', 'k3')).toBeUndefined();
  });

  it('does not mix up senders and keys with odd characters', () => {
    const memory = new Memory();
    memory.remember('a', 'b c', memo(1), false);
    memory.remember('a', '__proto__', memo(2), false);
    expect(memory.recall('a', 'b')).toBeUndefined();
    expect(memory.recall('a', 'b c')).toEqual(memo(1));
    expect(memory.recall('a', '__proto__')).toEqual(memo(2));
    expect(memory.recall('a', 'constructor')).toBeUndefined();
  });
});

describe('the latest 2,048', () => {
  it('are all there', () => {
    const memory = filled(2_048);
    expect(memory.recall('ann', 'k1')).toEqual(memo(1));
    expect(memory.size.identities).toBe(2_048);
  });

  it('let the oldest go for one more', () => {
    const memory = filled(2_049);
    expect(memory.recall('ann', 'k1')).toBeUndefined();
    expect(memory.recall('ann', 'k2')).toEqual(memo(2));
    expect(memory.size.identities).toBe(2_048);
  });
});

describe('the latest 2 of the 256 senders last active', () => {
  it('are kept when thousands of others came after them', () => {
    const memory = new Memory();
    for (const key of ['a', 'b', 'c']) memory.remember('bob', key, memo(1), false);
    for (let i = 1; i <= 2_100; i++) memory.remember('ann', `k${i}`, memo(i), false);
    expect(memory.recall('bob', 'a')).toBeUndefined();
    expect(memory.recall('bob', 'b')).toEqual(memo(1));
    expect(memory.recall('bob', 'c')).toEqual(memo(1));
  });

  it('are kept over runs, and make way for later ones there', () => {
    const before = new Memory();
    for (const key of ['a', 'b']) before.remember('bob', key, memo(1), false);
    for (let i = 1; i <= 2_100; i++) before.remember('ann', `k${i}`, memo(i), false);
    const memory = new Memory(before.snapshot());
    expect(memory.recall('bob', 'a')).toEqual(memo(1));
    memory.remember('bob', 'c', memo(2), false);
    expect(memory.recall('bob', 'a')).toBeUndefined();
    expect(memory.recall('bob', 'b')).toEqual(memo(1));
  });

  it('make way for later ones of the same sender', () => {
    const memory = new Memory();
    for (const key of ['a', 'b']) memory.remember('bob', key, memo(1), false);
    for (let i = 1; i <= 2_100; i++) memory.remember('ann', `k${i}`, memo(i), false);
    memory.remember('bob', 'c', memo(2), false);
    expect(memory.recall('bob', 'a')).toBeUndefined();
    expect(memory.recall('bob', 'b')).toEqual(memo(1));
    expect(memory.recall('bob', 'c')).toEqual(memo(2));
  });

  it.each([
    [255, true],
    [256, false],
  ])('are those of bob with %d others active after it: %s', (others, kept) => {
    const memory = new Memory();
    memory.remember('bob', 'a', memo(1), false);
    // First his identity leaves the latest 2,048, with ann the only other one.
    for (let i = 1; i <= 2_048; i++) memory.remember('o1', `k${i}`, memo(i), false);
    for (let i = 2; i <= others; i++) memory.remember(`o${i}`, 'k', memo(i), false);
    expect(memory.recall('bob', 'a') !== undefined).toBe(kept);
  });
});

describe('256 KiB', () => {
  it('are counted as the snapshot has them, and the oldest go', () => {
    const memory = new Memory();
    const long = 'x'.repeat(1_000);
    for (let i = 1; i <= 400; i++) memory.remember('ann', `k${i}`, memo(i, ['ok', long]), false);
    const { bytes, identities } = memory.size;
    expect(bytes).toBeLessThanOrEqual(256 * 1024);
    // One more would not have fitted.
    expect(bytes + bytes / identities).toBeGreaterThan(256 * 1024);
    expect(memory.recall('ann', `k${400 - identities}`)).toBeUndefined();
    expect(memory.recall('ann', `k${401 - identities}`)).toBeDefined();
    const { recent, spared } = memory.snapshot();
    expect(Buffer.byteLength(JSON.stringify([...recent, ...spared]))).toBeLessThanOrEqual(bytes + 1);
  });

  it('count characters beyond ASCII as their bytes', () => {
    const memory = new Memory();
    for (let i = 1; i <= 400; i++) memory.remember('ann', `k${i}`, memo(i, ['ok', '日'.repeat(500)]), false);
    expect(Buffer.byteLength(JSON.stringify(memory.snapshot().recent))).toBeLessThanOrEqual(256 * 1024 + 1);
  });
});

describe('what is pinned', () => {
  it('is never evicted', () => {
    const memory = new Memory();
    memory.remember('bob', 'vote', memo(7), true);
    for (let i = 1; i <= 5_000; i++) memory.remember(`s${i}`, 'k', memo(i), false);
    expect(memory.recall('bob', 'vote')).toEqual(memo(7));
  });

  it('counts apart', () => {
    const memory = new Memory();
    memory.remember('bob', 'vote', memo(7), true);
    const entry = JSON.stringify(memory.snapshot().pinned[0]);
    expect(memory.size).toEqual({ identities: 0, bytes: 0, pinnedBytes: entry.length + 1 });
  });
});

describe('what is pinned of the longest identities', () => {
  const [from, key] = ['a'.repeat(128), '日'.repeat(128)];

  it('is known by a digest, also where an earlier run kept it whole', () => {
    const memory = new Memory();
    memory.remember(from, key, memo(7), true);
    expect(memory.recall(from, key)).toEqual(memo(7));
    expect(memory.recall(from, `${key.slice(1)}x`)).toBeUndefined();
    expect(memory.size.pinnedBytes).toBeLessThan(100);
    const whole = new Memory({ recent: [], spared: [], senders: [], pinned: [[`${from} ${key}`, 'b', ['ok'], 7, 7]] });
    expect(whole.snapshot()).toEqual(memory.snapshot());
    expect(new Memory(whole.snapshot()).recall(from, key)).toEqual(memo(7));
    expect(whole.size).toEqual(memory.size);
  });
});

it('is the same after a snapshot', () => {
  const memory = new Memory();
  for (let i = 1; i <= 3_000; i++) memory.remember(`s${i % 300}`, `k${i}`, memo(i), i % 1_000 === 0);
  const json = JSON.stringify(memory.snapshot());
  const restored = new Memory(new Memory(memory.snapshot()).snapshot());
  expect(JSON.stringify(restored.snapshot())).toBe(json);
  expect(restored.size).toEqual(memory.size);
  // And it evicts the same ones afterwards.
  for (const each of [memory, restored]) for (let i = 0; i < 500; i++) each.remember('z', `z${i}`, memo(i), false);
  expect(JSON.stringify(restored.snapshot())).toBe(JSON.stringify(memory.snapshot()));
});
