import { seconds } from '../run.ts';
import type { SuiteResult } from '../runners/vitest.ts';

/** What all runs of one suite came to; `runs` = passed + failed + skipped. */
export interface SuiteTally {
  runs: number;
  passed: number;
  failed: number;
  /** Runs in which every test was skipped. */
  skipped: number;
  /** How often each test, or what is no test, failed. */
  failures: Map<string, number>;
  slowestMs: number;
}

/** Counts what each suite came to over many runs. */
export class Tally {
  readonly #suites = new Map<string, SuiteTally>();
  readonly #problems: string[] = [];

  /**
   * Adds one run of some files. A file that its report does not name has failed.
   * @param files the files that were to run, relative to the root
   * @param suites what the report says; undefined when there was none
   * @param outside what failed outside of any file, such as an unhandled rejection or a missing report
   */
  add(files: readonly string[], suites: readonly SuiteResult[] | undefined, outside?: string): void {
    const found = new Map((suites ?? []).map((suite) => [suite.file, suite]));
    for (const file of files) {
      this.#addSuite(file, found.get(file));
    }
    if (outside !== undefined) this.#problems.push(outside);
  }

  #addSuite(file: string, result: SuiteResult | undefined): void {
    const tally = this.#suites.get(file) ?? emptyTally();
    this.#suites.set(file, tally);
    const failures = result === undefined ? ['(no result in the report)'] : [...result.failing];
    if (result?.problem !== undefined) failures.push(`(${result.problem.split('\n')[0] ?? ''})`);
    tally.runs++;
    if (failures.length > 0) tally.failed++;
    else if (result?.passed === 0) tally.skipped++;
    else tally.passed++;
    // A test with the same name twice in one file counts once a run.
    for (const name of new Set(failures)) tally.failures.set(name, (tally.failures.get(name) ?? 0) + 1);
    tally.slowestMs = Math.max(tally.slowestMs, result?.ms ?? 0);
  }

  /** Whether every suite that ran passed (or was skipped), and at least one passed. */
  get clean(): boolean {
    const all = [...this.#suites.values()];
    return (
      this.#problems.length === 0 && all.every(({ failed }) => failed === 0) && all.some(({ passed }) => passed > 0)
    );
  }

  /** How many suites have failed at least once. */
  get failed(): number {
    return [...this.#suites.values()].filter(({ failed }) => failed > 0).length;
  }

  /** What has failed in these files so far, one line per file that has. */
  failuresOf(files: readonly string[]): string[] {
    return files.flatMap((file) => {
      const failures = this.#suites.get(file)?.failures ?? new Map<string, number>();
      return failures.size === 0 ? [] : [`${file}: ${listed(failures)}`];
    });
  }

  /** One row per suite, those that failed first, then the slowest first; then what failed outside of any suite. */
  table(): string {
    const head = ['suite', 'runs', 'passed', 'failed', 'slowest', 'failing tests'];
    const rows = this.#sorted().map(([file, suite]) => [
      file,
      ...[suite.runs, suite.passed, suite.failed].map(String),
      seconds(suite.slowestMs),
      listed(suite.failures) || (suite.skipped > 0 ? 'skipped' : ''),
    ]);
    const widths = head.map((_title, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
    const line = (row: readonly string[]): string =>
      row
        .map((cell, column) =>
          column >= 1 && column <= 4 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd();
    return [line(head), ...rows.map(line), ...this.#problems.map((problem) => `outside of any suite: ${problem}`)].join(
      '\n',
    );
  }

  /** The same for programs: figures in all, and each suite with its own. */
  json(): object {
    const suites = this.#sorted().map(([file, { failures, ...figures }]) => ({
      file,
      ...figures,
      failures: [...failures].map(([name, times]) => ({ name, times })),
    }));
    return {
      clean: this.clean,
      suites: suites.length,
      failedSuites: this.failed,
      problems: this.#problems,
      results: suites,
    };
  }

  #sorted(): [string, SuiteTally][] {
    return [...this.#suites].toSorted(
      ([, one], [, other]) => other.failed - one.failed || other.slowestMs - one.slowestMs,
    );
  }
}

function emptyTally(): SuiteTally {
  return { runs: 0, passed: 0, failed: 0, skipped: 0, failures: new Map(), slowestMs: 0 };
}

/** Names with how often each failed. */
function listed(failures: ReadonlyMap<string, number>): string {
  return [...failures].map(([name, times]) => `${name} (${times}×)`).join('; ');
}
