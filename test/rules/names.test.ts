import { describe, expect, it } from 'vitest';
import { sources } from './sources.ts';

/** Assignments through a computed key that is one of a fixed set of names, or a number that is not called `i` or `at`. */
const SAFE = new Set([
  'src/protocols/barrier/state.ts: roster[place] = agent;',
  'src/protocols/quorum/state.ts: counts[choice] = (counts[choice] ?? 0) + 1;',
  'src/host/config.ts: values[key] = parsed.data;',
  'src/dev/connect.ts: overrideEnvVars[name] = value;',
]);
const ASSIGNMENT = /(?<![\w$.#])(?!const |let )[\w$.#]+\[(?!(?:i|at)\])[^\]'"`]+\] (?:[-+*/|&?]{0,2})= [^\n]*/g;

const files = sources('src', 'workflows', 'activities');

// Users may call a resource, an option or a room's source `__proto__`. See src/envelope/byName.ts.
describe('objects keyed by names that users choose', () => {
  it('are read by byName: zod drops __proto__ from its records', () => {
    expect(files.filter(({ text }) => text.includes('z.record(')).map(({ path }) => path)).toEqual([]);
  });

  it('are made by fromNames: an assignment to __proto__ sets the prototype', () => {
    const found = files.flatMap(({ path, text }) =>
      [...text.matchAll(ASSIGNMENT)].map(([assignment]) => `${path}: ${assignment}`),
    );
    expect(found.filter((each) => !SAFE.has(each))).toEqual([]);
    expect(found.length).toBeGreaterThan(0);
  });
});
