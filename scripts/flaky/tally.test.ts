import { describe, expect, it } from 'vitest';
import type { SuiteResult } from '../runners/vitest.ts';
import { Tally } from './tally.ts';

const suite = (file: string, more: Partial<SuiteResult> = {}): SuiteResult => ({
  file,
  passed: 2,
  skipped: 0,
  failing: [],
  ms: 100,
  ...more,
});

describe('Tally', () => {
  it('counts runs, what passed, what failed and how often, and keeps the slowest run', () => {
    const tally = new Tally();
    tally.add(['a', 'b'], [suite('a'), suite('b')]);
    tally.add(['a', 'b'], [suite('a', { failing: ['x > y', 'z'], ms: 2_340 }), suite('b', { ms: 50 })]);
    tally.add(['a', 'b'], [suite('a', { failing: ['z'] }), suite('b')]);
    expect(tally.clean).toBe(false);
    expect(tally.failed).toBe(1);
    expect(tally.failuresOf(['b', 'a', 'unknown'])).toEqual(['a: x > y (1×); z (2×)']);
    expect(tally.table().split('\n')).toEqual([
      'suite  runs  passed  failed  slowest  failing tests',
      'a         3       1       2    2.3 s  x > y (1×); z (2×)',
      'b         3       3       0    0.1 s',
    ]);
    expect(tally.json()).toMatchObject({
      clean: false,
      suites: 2,
      failedSuites: 1,
      results: [
        { file: 'a', runs: 3, passed: 1, failed: 2, slowestMs: 2_340, failures: [{ name: 'x > y', times: 1 }, {}] },
        { file: 'b', runs: 3, passed: 3, failed: 0, failures: [] },
      ],
    });
  });

  it('counts a file that fails outside of its tests, or that the report does not name', () => {
    const tally = new Tally();
    tally.add(['a', 'b'], [suite('a', { problem: 'afterAll threw\nat line 3' })]);
    expect(tally.table()).toContain('(afterAll threw) (1×)');
    expect(tally.table()).toContain('(no result in the report) (1×)');
    expect(tally.failed).toBe(2);
  });

  it('is not clean after a failure outside of any file, nor when nothing has passed', () => {
    const outside = new Tally();
    outside.add(['a'], [suite('a')], 'exit code 1');
    expect(outside.clean).toBe(false);
    expect(outside.table()).toContain('outside of any suite: exit code 1');
    expect(new Tally().clean).toBe(false);
    const skipped = new Tally();
    skipped.add(['a'], [suite('a', { passed: 0, skipped: 2 })]);
    expect(skipped.clean).toBe(false);
    expect(skipped.json()).toMatchObject({ results: [{ runs: 1, passed: 0, failed: 0, skipped: 1 }] });
    skipped.add(['b'], [suite('b')]);
    expect(skipped.clean).toBe(true);
  });
});
