import { describe, expect, it } from 'vitest';
import { isFor, receiveArgs, startArgs } from './calls.ts';
import { explain, isRefusalCode, parseErrors, REFUSAL_CODES, SynodError } from './refusal.ts';
import { publication } from './room.ts';

describe('the argument of receive', () => {
  const args = { agents: ['ann'], after: 0 };

  it('waits for nothing and takes a full page by default', () => {
    expect(receiveArgs.parse(args)).toEqual({ agents: ['ann'], after: 0, wait_seconds: 0, limit: 200 });
  });

  it.each([
    { after: -1 },
    { wait_seconds: 0 },
    { wait_seconds: 20 },
    { wait_seconds: 0.5 },
    { limit: 1 },
    { limit: 200 },
    { agents: [] },
    { agents: ['*'] },
    { reader: 'host-1' },
  ])('may have %o', (fields) => {
    expect(receiveArgs.parse({ ...args, ...fields })).toMatchObject(fields);
  });

  it.each([
    { after: -2 },
    { after: 0.5 },
    { after: null },
    { wait_seconds: -0.1 },
    { wait_seconds: 20.001 },
    { wait_seconds: Number.NaN },
    { wait_seconds: null },
    { limit: 0 },
    { limit: 201 },
    { limit: 1.5 },
    { agents: 'ann' },
    { agents: ['a b'] },
    { agents: null },
    { reader: '' },
    { reader: 'r'.repeat(129) },
  ])('may not have %o, and the field is named', (fields) => {
    const result = receiveArgs.safeParse({ ...args, ...fields }, parseErrors);
    expect(result.success ? '' : explain(result.error)).toMatch(new RegExp(`^${Object.keys(fields).join()}`));
  });
});

describe('the start argument', () => {
  it('needs a room and takes a configuration', () => {
    expect(startArgs.parse({ room: 'lab', config: { a: null } })).toEqual({ room: 'lab', config: { a: null } });
    expect(startArgs.safeParse({}).success).toBe(false);
    expect(startArgs.safeParse({ room: 'a:b' }).success).toBe(false);
    expect(startArgs.safeParse({ room: 'lab', config: [] }).success).toBe(false);
  });
});

describe('a publication', () => {
  const valid = { source: 'synod:lab:task:t', events: [{ seq: 1, envelope: { type: 'task.ack', id: 'i' } }] };
  it('holds numbered envelopes and a row', () => {
    expect(
      publication.parse({ ...valid, row: { id: 't', kind: 'task', status: 'open', since: 's' }, final: true }),
    ).toMatchObject(valid);
  });
  it.each([
    { source: '' },
    { source: 'x'.repeat(256) },
    { events: [{ seq: 0, envelope: { type: 'x' } }] },
    { events: [{ seq: 1, envelope: {} }] },
    { events: [{ seq: 1, envelope: null }] },
    { row: { id: '', kind: 'task', status: 'open', since: 's' } },
    { final: 1 },
  ])('may not have %o', (fields) => {
    expect(publication.safeParse({ ...valid, ...fields }).success).toBe(false);
  });
});

describe('refusals', () => {
  it('have the codes of the contract', () => {
    const listed =
      'invalid_envelope, unauthorized, idempotency_conflict, expired, hops_exhausted, not_eligible, not_holder, stale_token, ' +
      'stale_epoch, already_decided, already_voted, closed, unknown, held, over_limit, draining';
    expect(REFUSAL_CODES.join(', ')).toBe(listed);
    expect(isRefusalCode('held')).toBe(true);
    expect(isRefusalCode('HELD')).toBe(false);
    expect(isRefusalCode(undefined)).toBe(false);
  });

  it('name a field inside a field', () => {
    const result = publication.safeParse(
      { source: 's', events: [{ seq: 1, envelope: { type: 'a' } }, { seq: null }] },
      parseErrors,
    );
    expect(result.success ? '' : explain(result.error)).toBe('events[1].seq must be a whole number >= 1');
  });

  it('are errors on the client that keep code and cause', () => {
    const cause = new Error('no connection');
    const error = new SynodError('closed', 'it has ended', { cause });
    expect(error).toMatchObject({ name: 'SynodError', code: 'closed', message: 'closed: it has ended', cause });
  });
});

describe('whom an envelope is for', () => {
  it.each([
    [undefined, ['ann'], true],
    [undefined, [], true],
    ['ann', ['ann'], true],
    ['ann', ['bob', 'ann'], true],
    ['ann', ['bob'], false],
    ['ann', ['*'], true],
    ['ann', ['Ann'], false],
  ])('to %s, read by %j: %s', (to, agents, is) => {
    expect(isFor({ type: 'toy.noted', id: 'i', from: 'synod', ts: '', to }, new Set(agents))).toBe(is);
  });

  it.each([
    [['toy.noted'], true],
    [['toy.other'], false],
  ])('of the type toy.noted, read by who asks for %j: %s', (types, is) => {
    const envelope = { type: 'toy.noted', id: 'i', from: 'synod', ts: '' };
    expect(isFor(envelope, new Set(['ann']), new Set(types))).toBe(is);
  });
});
