/** What a run of tests came to. */
export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  /** Failures that are no test's: each is counted in `failed` and shown at the end. */
  problems: readonly string[];
}

/** A test runner; its figures come from its own report, never from reading its console output. */
export interface Runner {
  /** For `--only=NAME`. */
  name: string;
  /** Why it cannot run here and how to mend that; undefined when it can. */
  missing(): Promise<string | undefined>;
  /**
   * Runs the tests.
   * @param options.args what the user gave after `npm test --`
   * @param options.folder an empty folder for its report, removed afterwards
   * @param options.strict nothing may be left out (CI)
   */
  run(options: { args: readonly string[]; folder: string; strict: boolean }): Promise<Counts>;
}

/** No test at all. */
export const zero: Counts = { passed: 0, failed: 0, skipped: 0, problems: [] };

/** The sum of two counts. */
export function add(one: Counts, other: Counts): Counts {
  return {
    passed: one.passed + other.passed,
    failed: one.failed + other.failed,
    skipped: one.skipped + other.skipped,
    problems: [...one.problems, ...other.problems],
  };
}

/** `N passed, N failed`, and `, N skipped` when there are any. */
export function summary({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
