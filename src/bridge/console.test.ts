import { describe, expect, it } from 'vitest';
import type { Envelope } from '../envelope/envelope.ts';
import { consoleLine } from './console.ts';

const base: Envelope = { type: 'room.post', id: 'm-1', from: 'agent-1', ts: '2026-01-02T03:04:05.678Z' };

function line(fields: Partial<Envelope>): string {
  return consoleLine({ seq: 7, envelope: { ...base, ...fields } }, 'text');
}

describe('a line of the console mirror', () => {
  it('shows who did what, when, and its place in the log', () => {
    expect(line({ text: 'hello' })).toBe('    7  03:04:05  agent-1: hello');
    expect(line({ type: 'task.expired', from: 'synod', task_id: 't-1', holder: 'agent-2', attempt: 1 })).toBe(
      '    7  03:04:05  the lease of agent-2 on t-1 has run out (attempt 1)',
    );
  });

  it('distinguishes a first announcement from a later one', () => {
    const announced = { type: 'task.announce', task_id: 't-1', title: 'Sum up' };
    expect(line({ ...announced, attempt: 1 })).toContain('agent-1 announces t-1: Sum up');
    expect(line({ ...announced, from: 'synod', attempt: 2 })).toContain('t-1 is announced again, attempt 2');
  });

  it('shows what would move the cursor, recolour the screen or reorder the line instead of doing it', () => {
    const shown = line({ text: 'a\u001b[2Jb\r\nc\u202ed\u0007' });
    expect(shown).toBe('    7  03:04:05  agent-1: a\\u001b[2Jb\\u000d c\\u202ed\\u0007');
  });

  it('is one line of bounded length, whatever the text', () => {
    const shown = line({ text: 'x'.repeat(4_000) });
    expect(shown).not.toContain('\n');
    expect(shown.length).toBeLessThan(300);
  });

  it('prints a type that it has no sentence for, and a time that cannot be read', () => {
    expect(line({ type: 'barrier.dance', ts: 'yesterday' })).toBe('    7  --:--:--  agent-1 barrier.dance');
    expect(line({ type: 'constructor.name' })).toContain('agent-1 constructor.name');
  });

  it('is the event itself as JSON where that is asked for', () => {
    const event = { seq: 7, envelope: { ...base, text: 'a\nb' } };
    const shown = consoleLine(event, 'json');
    expect(shown).not.toContain('\n');
    expect(JSON.parse(shown)).toEqual(event);
  });
});
