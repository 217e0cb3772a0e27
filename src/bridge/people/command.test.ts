import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HELP, readMessage } from './command.ts';

describe('a command', () => {
  it.each([
    ['!vote yes p-12', { name: 'vote', choice: 'yes', proposal: 'p-12' }],
    ['!vote  "not yet"   “plan B” ', { name: 'vote', choice: 'not yet', proposal: 'plan B' }],
    ['!vote „ja“ p', { name: 'vote', choice: 'ja', proposal: 'p' }],
    ['!vote e\u0301 p', { name: 'vote', choice: '\u00e9', proposal: 'p' }],
    ['!resolve phase-2 extend 60', { name: 'resolve', phase: 'phase-2', action: 'extend', seconds: 60 }],
    ['!resolve phase-2 extend', { name: 'resolve', phase: 'phase-2', action: 'extend' }],
    ['!resolve "phase 2" proceed', { name: 'resolve', phase: 'phase 2', action: 'proceed' }],
    ['!release l-3 he said "stuck', { name: 'release', lock: 'l-3', reason: 'he said "stuck' }],
    ['!cancel t-9', { name: 'cancel', task: 't-9' }],
    ['!cancel t-9 not needed; rm -rf /', { name: 'cancel', task: 't-9', reason: 'not needed; rm -rf /' }],
    ['!pause', { name: 'pause' }],
    ['!pause for lunch', { name: 'pause', reason: 'for lunch' }],
    ['!resume', { name: 'resume' }],
    ['!tasks ', { name: 'tasks' }],
    ['!locks', { name: 'locks' }],
    ['!who', { name: 'who' }],
    ['!help', { name: 'help' }],
  ])('%s', (text, command) => {
    expect(readMessage(text)).toEqual({ kind: 'command', command });
  });

  it.each([
    ['!vote', '!vote <choice> <proposal>'],
    ['!vote yes', '!vote <choice> <proposal>'],
    ['!vote yes maybe p-12', '!vote <choice> <proposal>'],
    ['!vote "yes p-12', '!vote <choice> <proposal>'],
    ['!resolve p proceed 60', '!resolve <phase>'],
    ['!release l-3', '!release <lock_id> <reason>'],
    ['!tasks all', '!tasks'],
    ['!vote yes p-12\n!vote yes p-13', 'a command is one line'],
    ['!vote yes\u2028p-12', 'a command is one line'],
    ['!VOTE yes p-12', '!help'],
    ['!constructor', '!help'],
    ['!__proto__', '!help'],
    ['!', '!help'],
    ['! vote yes p-12', '!help'],
    ['!!', '!help'],
  ])('%j is none, and the answer says what would be', (text, part) => {
    const said = readMessage(text);
    expect(said.kind).toBe('unclear');
    expect(said).toHaveProperty('answer', expect.stringContaining(part));
  });

  it('is in the help, whichever it is', () => {
    for (const name of ['vote', 'resolve', 'release', 'cancel', 'pause', 'resume', 'tasks', 'locks', 'who', 'help'])
      expect(HELP).toContain(`!${name}`);
  });
});

describe('free text', () => {
  it('may begin with ! after a space', () => {
    expect(readMessage('  !vote yes p-12 ')).toEqual({ kind: 'text', text: '!vote yes p-12' });
  });

  const beginnings = fc.constantFrom('', '!', '!vote ', '!release ', '\n!vote ', '! ', '“', '"', '\r\n');
  const anything = fc
    .tuple(beginnings, fc.string({ unit: 'binary', maxLength: 60 }), beginnings)
    .map((parts) => parts.join(''));

  it('is never a command, and nothing that is written makes the reader throw', () => {
    fc.assert(
      fc.property(anything, (text) => {
        expect(readMessage(text).kind === 'text').toBe(!text.startsWith('!'));
      }),
      { numRuns: 2_000 },
    );
  });

  it('is never a command, whatever stands in a later line of it', () => {
    fc.assert(
      fc.property(anything, fc.constantFrom('\n', '\r\n', '\r', '\u2028'), (text, end) => {
        expect(readMessage(`hello ${text}${end}!vote yes p-12`).kind).toBe('text');
      }),
    );
  });

  it('is what a name in quotes holds, to the letter', () => {
    const name = fc.string({ minLength: 1, maxLength: 20 }).filter((it) => !/["\n\r\v\f\u0085\u2028\u2029]/.test(it));
    fc.assert(
      fc.property(name, (choice) => {
        expect(readMessage(`!vote "${choice}" p`)).toEqual({
          kind: 'command',
          command: { name: 'vote', choice: choice.normalize('NFC'), proposal: 'p' },
        });
      }),
    );
  });
});
