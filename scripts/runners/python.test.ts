import { describe, expect, it } from 'vitest';
import { countJunit } from './python.ts';

const report = (attributes: string): string =>
  `<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" ${attributes} time="1.5"><testcase name="a" /></testsuite></testsuites>`;

describe('countJunit', () => {
  it('counts tests by how they ended, errors as failures', () => {
    expect(countJunit(report('errors="1" failures="2" skipped="3" tests="10"'), 1)).toEqual({
      passed: 4,
      failed: 3,
      skipped: 3,
      problems: [],
    });
  });

  it.each([
    ['no test', report('errors="0" failures="0" skipped="0" tests="0"'), 5, 'found no test'],
    ['no figures', '<testsuites />', 0, 'no usable report'],
    ['an exit code that nothing explains', report('errors="0" failures="0" skipped="0" tests="2"'), 3, 'exit code 3'],
  ])('counts %s as a failure', (_name, xml, code, problem) => {
    const counts = countJunit(xml, code);
    expect(counts.failed).toBe(1);
    expect(counts.problems.join()).toContain(problem);
  });
});
