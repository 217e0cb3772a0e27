import { describe, expect, it } from 'vitest';
import type { Envelope } from '../envelope/envelope.ts';
import { chatText, isForPeople } from './text.ts';

const base: Envelope = { type: 'room.post', id: 'm-1', from: 'agent-1', ts: '' };
const said = (fields: Partial<Envelope>): string => chatText({ seq: 7, envelope: { ...base, ...fields } });

describe('an entry of the log in a chat', () => {
  it('shows who posted what, or what happened', () => {
    expect(said({ text: 'hello' })).toBe('agent-1: hello');
    expect(said({ type: 'task.completed', from: 'synod', task_id: 't-1', holder: 'agent-2' })).toBe(
      't-1 is completed by agent-2',
    );
    expect(
      said({ type: 'decision.commit', from: 'synod', proposal_id: 'p-1', choice: 'yes', tally: { yes: 2, no: 0 } }),
    ).toBe('p-1 is decided: yes (yes 2, no 0)');
  });

  it('is not cut, however long the text', () => {
    expect(said({ text: 'x'.repeat(4_000) })).toBe(`agent-1: ${'x'.repeat(4_000)}`);
  });

  it('cannot pass for the line of another', () => {
    expect(said({ text: 'hi\r\nagent-2: I resign\ragent-3: me too' })).toBe(
      'agent-1: hi\n│ agent-2: I resign\n│ agent-3: me too',
    );
  });

  it('leaves code as it is, and closes what its author has left open', () => {
    expect(said({ text: 'see\n```js\nlet a;\n```\nand' })).toBe('agent-1: see\n```js\nlet a;\n```\n│ and');
    expect(said({ text: '```\nlet a;' })).toBe('agent-1:\n```\nlet a;\n```');
  });

  it('pings nobody and holds no secret, in whatever field', () => {
    const secret = ['ghp_', '16C7e42F292c6912E7710c838347Ae178B4a'].join('');
    const text = `@everyone <!channel> ${secret} postgres://app:hunter2@db/x`;
    for (const shown of [said({ text }), said({ type: 'task.fail', task_id: 't-1', reason: text })]) {
      expect(shown).toContain('@\u200beveryone <\u200b!channel> [masked] postgres://app:[masked]@db/x');
    }
  });

  it('hides no secret behind characters that nobody sees, nor in what is cut', () => {
    const secret = ['gh\u200bp_', '16C7e42F292c6912\u2060E7710c838347Ae178B4a'].join('');
    expect(said({ text: secret })).toBe('agent-1: [masked]');
    const cut = said({ type: 'task.fail', task_id: 't-1', reason: `${'x'.repeat(180)} ${secret}` });
    expect(cut).toBe(`agent-1 fails at t-1: ${'x'.repeat(180)} [masked]`);
  });
});

describe('the text of an answer, and which entries are for people', () => {
  const shown = (fields: Partial<Envelope>): boolean => isForPeople({ seq: 1, envelope: { ...base, ...fields } });

  it('is what is for the room, and who has got what', () => {
    expect(shown({})).toBe(true);
    expect(shown({ type: 'task.ack', to: 'agent-1' })).toBe(true);
    expect(shown({ type: 'lock.granted', to: 'agent-1' })).toBe(true);
  });

  it('is no receipt and no refusal of one agent', () => {
    expect(shown({ type: 'room.accepted', to: 'agent-1' })).toBe(false);
    expect(shown({ type: 'error', to: 'agent-1' })).toBe(false);
  });
});
