import { describe, expect, it } from 'vitest';
import { flakyOptions, partOf } from './options.ts';

describe('flakyOptions', () => {
  it('has defaults', () => {
    expect(flakyOptions([])).toEqual({
      times: 20,
      load: false,
      minutes: Infinity,
      portion: 8,
      shard: { index: 1, count: 1 },
      paths: [],
      help: false,
    });
  });

  it('reads what is given', () => {
    const args = ['--times', '3', 'src/dev', '--load', '--minutes=1.5', '--shard', '2/4', '--portion', '1', 'test/e2e'];
    expect(flakyOptions(args)).toEqual({
      times: 3,
      load: true,
      minutes: 1.5,
      portion: 1,
      shard: { index: 2, count: 4 },
      paths: ['src/dev', 'test/e2e'],
      help: false,
    });
  });

  it.each([
    [['--times', '0'], '--times takes a whole number from 1 to 1000, not "0"'],
    [['--times', '2.5'], '--times'],
    [['--times', 'many'], '--times'],
    [['--portion', '101'], '--portion'],
    [['--minutes', '0'], '--minutes takes a number above 0'],
    [['--minutes', '1e9'], '--minutes'],
    [['--shard', '5/4'], '--shard takes I/N with I from 1 to N'],
    [['--shard', '0/4'], '--shard'],
    [['--shard', '1'], '--shard'],
    [['--tines', '3'], '--tines'],
  ])('refuses %j', (args, message) => {
    expect(() => flakyOptions(args)).toThrow(message);
  });
});

it('parts are all files together, each once', () => {
  const files = ['e', 'b', 'd', 'a', 'c'];
  const parts = [1, 2, 3].map((index) => partOf(files, { index, count: 3 }));
  expect(parts).toEqual([['a', 'd'], ['b', 'e'], ['c']]);
  expect(partOf(files, { index: 1, count: 1 })).toEqual(['a', 'b', 'c', 'd', 'e']);
});
