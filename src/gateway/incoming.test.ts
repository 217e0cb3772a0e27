import { describe, expect, it } from 'vitest';
import { samples } from '../envelope/messages.fixture.ts';
import { REFUSAL_CODES, SynodError } from '../envelope/refusal.ts';
import { Problem, problemOf, STATUS } from './errors.ts';
import { incoming, messageSchemas } from './incoming.ts';
import { roomOf, sourceTarget, targetAt } from './sources.ts';
import { issue } from './tokens.ts';

const { stored: token } = issue({ agent: 'ann', rooms: ['lab'] });

/** What becomes of a message: its target's id, or the code of the refusal. */
function routed(raw: unknown): string {
  try {
    return incoming(raw, 'lab', token).target.workflowId;
  } catch (error) {
    return problemOf(error).code;
  }
}

describe('a message', () => {
  it.each([
    ['task.', 'synod:lab:task:t'],
    ['coordinator.', 'synod:lab:coordinator:main'],
    ['decision.', 'synod:lab:proposal:'],
    ['barrier.', 'synod:lab:barrier:'],
    ['lock.', 'synod:lab:locks'],
    ['room.', 'synod:lab:room'],
  ])('of %s goes to %s', (area, id) => {
    const types = Object.keys(messageSchemas).filter((type) => type.startsWith(area));
    expect(types.length).toBeGreaterThan(1);
    for (const type of types) expect(routed({ type, ...samples[type]?.valid })).toContain(id);
  });

  it('goes to the workflow that its name is encoded in, and a role to its own', () => {
    expect(routed({ type: 'task.claim', task_id: 'a b/c' })).toBe('synod:lab:task:a%20b%2Fc');
    expect(routed({ type: 'coordinator.join', role: 'lead' })).toBe('synod:lab:coordinator:lead');
  });

  it('is given an id, a sender and a time, and one hop less', () => {
    const { message } = incoming({ type: 'room.post', text: 'x' }, 'lab', token);
    expect(message).toMatchObject({ from: 'ann', max_hops: 7 });
    expect(message.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(Date.parse(message.ts)).toBeGreaterThan(0);
    expect(incoming({ type: 'room.post', text: 'x', id: 'mine', max_hops: 2 }, 'lab', token).message).toMatchObject({
      id: 'mine',
      max_hops: 1,
    });
  });

  it.each([
    [[], 'invalid_envelope'],
    ['text', 'invalid_envelope'],
    [null, 'invalid_envelope'],
    [{ type: '__proto__' }, 'invalid_envelope'],
    [{ type: 'task.ack', task_id: 't' }, 'invalid_envelope'],
    [{ type: 'config.set', config: {} }, 'invalid_envelope'],
    [{ type: 'room.post', text: 'x', from: 'bob' }, 'unauthorized'],
    [{ type: 'room.post', text: 'x', from: 'synod' }, 'unauthorized'],
    [{ type: 'room.post', text: 'x', from: 'operator:ann' }, 'unauthorized'],
    [{ type: 'room.post', text: 'x', from: null }, 'unauthorized'],
    [{ type: 'room.post', text: 'x', id: null }, 'invalid_envelope'],
    [{ type: 'room.post', text: 'x', pad: 'x'.repeat(17_000) }, 'over_limit'],
    [{ type: 'room.post', text: 'x', max_hops: 1 }, 'hops_exhausted'],
  ])('that is %j is refused', (raw, code) => {
    expect(routed(raw)).toBe(code);
  });
});

describe('a source', () => {
  it('names a workflow, and an unknown one is refused', () => {
    expect(sourceTarget('lab', 'room').workflowId).toBe('synod:lab:room');
    expect(sourceTarget('lab', 'locks').workflowId).toBe('synod:lab:locks');
    expect(sourceTarget('lab', 'locks:3').workflowId).toBe('synod:lab:locks:3');
    expect(sourceTarget('lab', 'task:a:b').workflowId).toBe('synod:lab:task:a%3Ab');
    for (const bad of ['', 'task', 'task:', 'room:x', 'toString', 'bridge:matrix', 'locks:x'])
      expect(() => sourceTarget('lab', bad)).toThrow('source');
  });
});

describe('a workflow id', () => {
  it.each([
    'synod:lab:task:a%20b',
    'synod:lab:locks',
    'synod:lab:locks:3',
    'synod:lab:room',
    `synod:lab:task:~${'0'.repeat(64)}`,
  ])('%s is of its room', (id) => {
    expect(roomOf(id)).toBe('lab');
    expect(targetAt('lab', id)).toMatchObject({ room: 'lab', workflowId: id });
    expect(() => targetAt('other', id)).toThrow('other');
  });

  it.each([
    'x',
    'synod:lab',
    'synod:lab:desk:x',
    'synod:lab:task',
    'synod:lab:task:a:b',
    'synod:lab:task:a b',
    'synod:lab:bridge:m',
  ])('%s is none', (id) => {
    expect(roomOf(id)).toBeUndefined();
  });
});

describe('an error', () => {
  it('has a status for every code, and shows nothing of the inside', () => {
    for (const code of REFUSAL_CODES) expect(problemOf(new SynodError(code, 'x')).status).toBe(STATUS[code]);
    expect(problemOf(new TypeError('secret of the inside')).body).toEqual({
      error: { code: 'internal', message: expect.not.stringContaining('secret') as string },
    });
  });

  it('names the field of a malformed message', () => {
    const fieldOf = (message: string) => new Problem('invalid_envelope', message).body.error.field;
    expect(fieldOf('resources[2] must be a string')).toBe('resources[2]');
    expect(fieldOf('text must not be empty')).toBe('text');
    expect(new Problem('closed', 'text must').body.error.field).toBeUndefined();
  });
});
