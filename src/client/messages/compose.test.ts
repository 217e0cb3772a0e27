import { expect, it } from 'vitest';
import { SynodError } from '../../envelope/refusal.ts';
import { roomMessages } from '../../envelope/room.ts';
import { taskMessages } from '../../envelope/task.ts';
import { checked, compose } from './compose.ts';

const post = (fields: { [field: string]: unknown } = {}, from = 'agent-1') =>
  compose(roomMessages['room.post'], from, { type: 'room.post', text: 'hello', ...fields });

function refusalOf(compose: () => unknown): { code: string; message: string } {
  try {
    compose();
  } catch (error) {
    if (error instanceof SynodError) return { code: error.code, message: error.message };
  }
  throw new Error('it was not refused with a SynodError');
}

it('fills in who, when and an id of its own for each message', () => {
  const first = post();
  const second = post();
  expect(first).toMatchObject({ type: 'room.post', from: 'agent-1', text: 'hello' });
  expect(first.id).not.toBe(second.id);
  expect(new Date(first.ts).toISOString()).toBe(first.ts);
});

it('leaves out what is undefined, and fills in defaults', () => {
  const claim = compose(taskMessages['task.claim'], 'a', {
    type: 'task.claim',
    task_id: 't',
    lease_seconds: undefined,
  });
  expect(Object.keys(claim)).not.toContain('lease_seconds');
  const announced = compose(taskMessages['task.announce'], 'a', { type: 'task.announce', task_id: 't', title: 'x' });
  expect(announced).toMatchObject({ claim_seconds: 60, lease_seconds: 300, max_attempts: 3, priority: 3 });
});

it('names the field that is wrong', () => {
  expect(refusalOf(() => post({ text: 7 }))).toMatchObject({
    code: 'invalid_envelope',
    message: expect.stringContaining('text') as string,
  });
  expect(refusalOf(() => post({}, 'no spaces'))).toMatchObject({
    code: 'invalid_envelope',
    message: expect.stringContaining('from') as string,
  });
});

it('refuses what does not fit into an envelope before it is sent', () => {
  const input = 'x'.repeat(17 * 1024);
  const large = () =>
    compose(taskMessages['task.announce'], 'a', { type: 'task.announce', task_id: 't', title: 'x', input });
  expect(['over_limit', 'invalid_envelope']).toContain(refusalOf(large).code);
});

it('checks agents and rooms by their own rules', () => {
  expect(checked('agent', 'operator:anna')).toBe('operator:anna');
  expect(checked('room', 'release-1.2')).toBe('release-1.2');
  expect(refusalOf(() => checked('room', 'operator:anna')).message).toContain('room must be');
  expect(refusalOf(() => checked('agent', undefined as unknown as string)).message).toContain('agent is missing');
  expect(refusalOf(() => checked('agent', 'über')).message).toContain('agent must be');
});
