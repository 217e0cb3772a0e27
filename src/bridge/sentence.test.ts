import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { Envelope } from '../envelope/envelope.ts';
import { sentence } from './sentence.ts';

const say = (type: string, fields: Partial<Envelope> = {}): string =>
  sentence({ type, id: 'm', from: 'ann', ts: '', ...fields }, (text) => text);

describe('an envelope as a sentence', () => {
  it('has a sentence for every message of the contract', async () => {
    const contract = await readFile(new URL('../../docs/wire.md', import.meta.url), 'utf8');
    // The ledger of a chat is never shown; `config.…` names keys as well.
    const types = [...contract.matchAll(/`((?:task|coordinator|decision|barrier|lock|room)\.[a-z_]+)`/g)].map(
      ([, type]) => type,
    );
    expect(new Set(types).size).toBeGreaterThan(50);
    expect([...new Set(types)].filter((type = '') => say(type) === `ann ${type}`)).toEqual([]);
  });

  it.each([
    [
      say('lock.request', { resources: ['index', 'report'], lock_type: 'exclusive' }),
      'ann asks for index, report (exclusive)',
    ],
    [say('lock.granted', { to: 'bob', tokens: { report: 4 }, lock_id: 'l-1' }), 'bob holds report 4, lock l-1'],
    [say('barrier.escalated', { phase: 'b', missing: ['bob', 'cy'] }), 'the barrier b still waits for bob, cy'],
    [say('coordinator.directive', { directive: { step: [1, 2] } }), 'ann directs: {"step":[1,2]}'],
    [say('coordinator.directive', { directive: null }), 'ann directs: null'],
    [say('lock.cancel', { request: 'k-1' }), 'ann asks no more for k-1'],
    [say('made.up'), 'ann made.up'],
  ])('reads: %s', (said, wanted) => {
    expect(said).toBe(wanted);
  });
});
