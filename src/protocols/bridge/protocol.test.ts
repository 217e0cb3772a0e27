import { beforeEach, describe, expect, it } from 'vitest';
import type { BridgeMessage } from '../../envelope/bridge.ts';
import type { Envelope } from '../../envelope/envelope.ts';
import type { Json } from '../../envelope/fields.ts';
import { Host } from '../../host/host.ts';
import { chatLedger, type LedgerState } from './protocol.ts';

const START = Date.UTC(2026, 0, 1);
const chat = 'matrix:!lab';

let host: Host<LedgerState, BridgeMessage>;
let now = START;
let issued = 0;

type Fields = { readonly [field: string]: Json };

beforeEach(() => {
  now = START;
  host = new Host(chatLedger, { workflowId: 'synod:lab:bridge:matrix%3A%21lab', room: 'lab', config: {}, now });
});

function say(from: string, verb: string, fields: Fields = {}): Envelope | undefined {
  issued += 1;
  return host.request([{ type: `bridge.${verb}`, id: `m${issued}`, from, ts: '', chat, ...fields }], now)[0]?.[0];
}
const post = { epoch: 1, after: 0, part: 0, key: 'k1', text: 'hello', last: 1, parts: 1, whole: 'w1' };
const settled = { epoch: 1, key: 'k1', outcome: 'posted', post_id: '$1' };
const place = (): Json | undefined => say('b2', 'take')?.['place'];

describe('the ledger of a chat', () => {
  it('has one poster: another waits until its lease has run out, or is released', () => {
    expect(say('b1', 'take', { lease_seconds: 10 })).toMatchObject({ type: 'bridge.taken', epoch: 1 });
    expect(say('b2', 'take')).toMatchObject({
      code: 'held',
      reason: 'b1 posts to matrix:!lab until 2026-01-01T00:00:10.000Z',
    });
    now += 9_999;
    expect(say('b1', 'renew', { epoch: 1 })).toMatchObject({ lease_expires_at: '2026-01-01T00:00:19.999Z' });
    now += 9_999;
    expect(say('b2', 'take')).toMatchObject({ code: 'held' });
    now += 1;
    expect(say('b2', 'take')).toMatchObject({ type: 'bridge.taken', epoch: 2 });
    expect(say('b2', 'release', { epoch: 2 })).toMatchObject({ type: 'bridge.released' });
    expect(say('b1', 'take')).toMatchObject({ type: 'bridge.taken', epoch: 3 });
  });

  it('refuses every message of an earlier poster, and of one that never was', () => {
    say('b1', 'take', { lease_seconds: 1 });
    now += 1_000;
    say('b2', 'take');
    for (const [verb, fields] of [
      ['send', post],
      ['settle', settled],
      ['renew', { epoch: 1 }],
      ['release', { epoch: 1 }],
    ] as const) {
      expect(say('b1', verb, fields)).toMatchObject({ code: 'stale_epoch' });
      expect(say('b1', verb, { ...fields, epoch: 2 })).toMatchObject({ code: 'not_holder' });
      expect(say('b2', verb, { ...fields, epoch: 3 })).toMatchObject({ code: 'invalid_envelope' });
    }
    say('b2', 'release', { epoch: 2 });
    expect(say('b2', 'send', { ...post, epoch: 2 })).toMatchObject({ code: 'not_holder' });
  });

  it('goes on under a lease that has run out as long as nobody else has taken it', () => {
    say('b1', 'take', { lease_seconds: 1 });
    now += 60_000;
    expect(say('b1', 'send', post)).toMatchObject({ type: 'bridge.renewed' });
    expect(say('b2', 'take')).toMatchObject({ code: 'held' });
  });

  it('begins where the first poster asks for, and never again', () => {
    say('b1', 'take', { cursor: 7 });
    say('b1', 'release', { epoch: 1 });
    expect(say('b2', 'take', { cursor: 2 })).toMatchObject({ place: { after: 7, part: 0 } });
  });

  it('moves on when a post is settled, and not before', () => {
    say('b1', 'take');
    say('b1', 'send', post);
    expect(host.view(undefined, now)).toMatchObject({ cursor: 0, doubt: { key: 'k1' }, posted: 0 });
    expect(say('b1', 'settle', settled)).toMatchObject({ type: 'bridge.renewed', cursor: 1 });
    expect(host.view(undefined, now)).not.toHaveProperty('doubt');
    expect(host.view(undefined, now)).toMatchObject({ cursor: 1, posted: 1, refused: 0 });
  });

  it('hands what is in doubt, unchanged, to whoever takes over', () => {
    say('b1', 'take', { lease_seconds: 1 });
    say('b1', 'send', { ...post, parts: 2 });
    now += 1_000;
    const { epoch: _, after, ...doubt } = { ...post, parts: 2 };
    expect(place()).toEqual({ after, part: 0, whole: 'w1', doubt });
  });

  it('takes one post at a time, in order, without a gap', () => {
    say('b1', 'take');
    expect(say('b1', 'send', { ...post, after: 1 })).toMatchObject({ reason: 'after must be 0, and part 0' });
    expect(say('b1', 'send', { ...post, part: 1, parts: 2, whole: '' })).toMatchObject({ code: 'invalid_envelope' });
    say('b1', 'send', post);
    expect(say('b1', 'send', { ...post, key: 'k2' })).toMatchObject({ reason: 'key k1 must be settled first' });
    expect(say('b1', 'settle', { ...settled, key: 'k2' })).toMatchObject({ reason: 'key is not in doubt; k1 is' });
    expect(say('b1', 'renew', { epoch: 1, cursor: 5 })).toMatchObject({ code: 'invalid_envelope' });
    say('b1', 'settle', settled);
    expect(say('b1', 'settle', settled)).toMatchObject({ reason: 'key is not in doubt; none is' });
    expect(say('b1', 'send', { ...post, after: 1, part: 1, parts: 1 })).toMatchObject({ code: 'invalid_envelope' });
  });

  it('lets the text of what is in doubt be replaced, under the same key', () => {
    say('b1', 'take', { lease_seconds: 1 });
    say('b1', 'send', post);
    expect(say('b1', 'send', { ...post, text: 'perhaps again: hello' })).toMatchObject({ type: 'bridge.renewed' });
    now += 1_000;
    expect(place()).toMatchObject({ after: 0, doubt: { key: 'k1', text: 'perhaps again: hello' } });
  });

  it('goes from part to part of a long text, and resumes at the next one', () => {
    say('b1', 'take', { lease_seconds: 1 });
    say('b1', 'send', { ...post, parts: 2 });
    say('b1', 'settle', settled);
    expect(say('b1', 'renew', { epoch: 1, cursor: 5 })).toMatchObject({ code: 'invalid_envelope' });
    now += 1_000;
    expect(place()).toEqual({ after: 0, part: 1, whole: 'w1', post_id: '$1' });
    const second = { ...post, epoch: 2, part: 1, parts: 2, key: 'k2' };
    expect(say('b2', 'send', { ...second, part: 0 })).toMatchObject({ code: 'invalid_envelope' });
    say('b2', 'send', second);
    expect(say('b2', 'settle', { ...settled, epoch: 2, key: 'k2' })).toMatchObject({ cursor: 1 });
  });

  it('lets another text begin where the rest of one cannot be posted any more', () => {
    say('b1', 'take');
    say('b1', 'send', { ...post, parts: 2 });
    say('b1', 'settle', settled);
    const other = { ...post, key: 'k2', whole: 'w2', last: 9 };
    expect(say('b1', 'send', other)).toMatchObject({ type: 'bridge.renewed' });
    expect(say('b1', 'settle', { ...settled, key: 'k2' })).toMatchObject({ cursor: 9 });
  });

  it('passes over what is not for people, keeps how far the chat was read, and counts what the chat refuses', () => {
    say('b1', 'take');
    expect(say('b1', 'renew', { epoch: 1, cursor: 4, heard: 's72' })).toMatchObject({ cursor: 4 });
    say('b1', 'renew', { epoch: 1 });
    say('b1', 'send', { ...post, after: 4, last: 5 });
    say('b1', 'settle', { ...settled, outcome: 'refused' });
    expect(host.view(undefined, now)).toMatchObject({ cursor: 5, heard: 's72', posted: 0, refused: 1 });
  });

  it('keeps up to where entries may stand in the chat already, over every later poster', () => {
    say('b1', 'take', { lease_seconds: 1 });
    say('b1', 'renew', { epoch: 1, cursor: 2, doubtful_to: 7 });
    say('b1', 'renew', { epoch: 1 });
    expect(host.view(undefined, now)).toMatchObject({ cursor: 2, doubtful_to: 7 });
    now += 1_000;
    expect(place()).toEqual({ after: 2, part: 0, whole: '', doubtful_to: 7 });
  });

  it('publishes nothing: what it logged would come back to the room, and to the chat', () => {
    say('b1', 'take');
    say('b1', 'send', post);
    say('b1', 'settle', settled);
    expect(host.mirror.pending).toBe(0);
    expect(host.view(undefined, now)['log']).toMatchObject({ head: 0 });
  });
});
