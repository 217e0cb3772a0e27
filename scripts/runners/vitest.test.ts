import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../run.ts';
import { add, summary, zero } from './counts.ts';
import { countVitest } from './vitest.ts';

function report(...files: { status?: string; message?: string; tests: string[] }[]): unknown {
  return {
    testResults: files.map(({ status = 'passed', message, tests }, index) => ({
      name: path.join(root, `src/file${index}.test.ts`),
      status,
      message,
      assertionResults: tests.map((test) => ({ status: test })),
    })),
  };
}

describe('countVitest', () => {
  it('counts tests by how they ended', () => {
    const counts = countVitest(report({ status: 'failed', tests: ['passed', 'failed', 'skipped', 'todo'] }), {
      whole: true,
    });
    expect(counts).toEqual({ passed: 1, failed: 1, skipped: 2, problems: [] });
  });

  it('counts a file without a test as a failure', () => {
    const counts = countVitest(
      report({ tests: ['passed'] }, { status: 'failed', message: 'cannot be loaded', tests: [] }),
      {
        whole: false,
      },
    );
    expect(counts).toMatchObject({ passed: 1, failed: 1 });
    expect(counts.problems).toEqual(['src/file1.test.ts: no test ran cannot be loaded']);
  });

  it('counts a file that fails outside of its tests, such as in a hook', () => {
    expect(
      countVitest(report({ status: 'failed', message: 'afterAll', tests: ['passed'] }), { whole: false }).failed,
    ).toBe(1);
  });

  it('counts a file that skipped everything as a failure only when nothing may be left out', () => {
    const skipped = report({ tests: ['skipped'] });
    expect(countVitest(skipped, { whole: true }).failed).toBe(1);
    expect(countVitest(skipped, { whole: false })).toMatchObject({ failed: 0, skipped: 1 });
  });

  it('counts a run without a file as a failure', () => {
    expect(countVitest(report(), { whole: false })).toMatchObject({ failed: 1, problems: ['no test file was found'] });
  });

  it('refuses what is no report', () => {
    expect(() => countVitest({ results: [] }, { whole: false })).toThrow('testResults');
  });
});

describe('summary', () => {
  it('names skipped tests only when there are any', () => {
    expect(summary(add(zero, { passed: 3, failed: 0, skipped: 0, problems: [] }))).toBe('3 passed, 0 failed');
    expect(summary({ passed: 3, failed: 1, skipped: 2, problems: [] })).toBe('3 passed, 1 failed, 2 skipped');
  });
});
