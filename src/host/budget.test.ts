import { expect, it } from 'vitest';
import { MAX_HANDOVER_BYTES } from '../envelope/limits.ts';
import { withinBudget } from './budget.ts';
import { toyHost } from './toy.fixture.ts';

const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** What an earlier version may have left: a log within its budget, and a configuration of any size. */
function left(configBytes: number) {
  const events = Array.from({ length: 300 }, (_, i) => ({
    seq: i + 1,
    envelope: { type: 'toy.event', id: `i${i}`, from: 'synod', ts: '', text: 'é'.repeat(500) },
  }));
  return { ...toyHost().snapshot(), config: { text: 'x'.repeat(configBytes) }, log: { head: 300, events } };
}

it('is handed over whole within the budget', () => {
  const snapshot = left(1_000_000);
  expect(withinBudget(snapshot)).toBe(snapshot);
});

it('is handed over without the oldest of its log past it, the latest kept', () => {
  const snapshot = left(1_600_000);
  expect(bytes(snapshot)).toBeGreaterThan(MAX_HANDOVER_BYTES);
  const { log, ...rest } = withinBudget(snapshot);
  expect(bytes({ log, ...rest })).toBeLessThanOrEqual(MAX_HANDOVER_BYTES);
  // Not one entry more than needed.
  expect(bytes({ log, ...rest })).toBeGreaterThan(MAX_HANDOVER_BYTES - 1_200);
  expect(log).toMatchObject({ head: 300 });
  const seqs = (Reflect.get(Object(log), 'events') as { seq: number }[]).map(({ seq }) => seq);
  expect(seqs.at(-1)).toBe(300);
  expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, i) => 301 - seqs.length + i));
});
