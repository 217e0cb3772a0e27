import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { consoleAdapter } from './console.ts';

/** A terminal that takes lines until it breaks. */
function terminal(): { out: Writable; lines: () => string; breakNow: () => void } {
  let taken = '';
  let broken = false;
  const out = new Writable({
    write(chunk: Buffer, _, done) {
      if (broken) return done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
      taken += chunk.toString();
      done();
    },
  });
  out.on('error', () => undefined);
  return { out, lines: () => taken, breakNow: () => (broken = true) };
}

describe('the console as a chat', () => {
  it('writes what it posts, and where it answers', async () => {
    const { out, lines } = terminal();
    const adapter = consoleAdapter({ out });
    const first = await adapter.post('k1', 'one\ntwo');
    const second = await adapter.post('k2', 'three', { thread: '7' });
    expect(lines()).toBe('one\ntwo\n[7] three\n');
    expect(first.id).not.toBe(second.id);
  });

  it('does not know what became of a line when the terminal breaks, and cannot look it up', async () => {
    const { out, breakNow } = terminal();
    breakNow();
    const adapter = consoleAdapter({ out });
    await expect(adapter.post('k1', 'one')).rejects.toMatchObject({ fault: 'ambiguous' });
    expect(await adapter.readBack('k1', { text: 'one' })).toBe('unknown');
  });

  it('refuses what is endless, and reads nothing', async () => {
    const adapter = consoleAdapter({ out: terminal().out });
    await expect(adapter.post('k1', 'x'.repeat(100_001))).rejects.toMatchObject({ fault: 'unacceptable' });
    expect(await adapter.readForward('')).toEqual({ messages: [], cursor: '' });
  });
});
