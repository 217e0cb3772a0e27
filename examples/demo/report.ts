import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { Study } from './study.ts';

const END = '-- end of ';

/** The pieces in which an agent writes its part of the report. */
export function pieces(label: string, agent: string, found: Study): string[] {
  const nearest = found.nearest === null ? 'nothing it resembles' : `most like ${found.nearest} (${found.distance})`;
  return [
    `## ${label}\n`,
    `by ${agent}\n`,
    `${found.lines} lines, ${found.words} words, ${found.bytes} bytes\n`,
    `most frequent: ${found.top.map(([word, n]) => `${word} ${n}`).join(', ')}\n`,
    `${nearest}\n`,
    `${END}${label}\n`,
  ];
}

export function append(report: string, text: string): void {
  appendFileSync(report, text);
}

/** What a report contains. */
export interface ReadReport {
  /** How often each file has a part that is whole. */
  readonly whole: ReadonlyMap<string, number>;
  /** Parts that contain lines of another, or have no end. */
  readonly torn: number;
  /** How often each file has a part, whole or torn. */
  readonly begun: ReadonlyMap<string, number>;
}

export function readReport(report: string): ReadReport {
  const whole = new Map<string, number>();
  const begun = new Map<string, number>();
  const lines = existsSync(report) ? readFileSync(report, 'utf8').split('\n') : [];
  let torn = 0;
  lines.forEach((line, at) => {
    if (!line.startsWith('## ')) return;
    const label = line.slice(3);
    add(begun, label);
    const part = lines.slice(at + 1, at + PART_LINES);
    const isWhole = part.at(-1) === `${END}${label}` && !part.some((other) => other.startsWith('## '));
    if (isWhole) add(whole, label);
    else torn += 1;
  });
  return { whole, torn, begun };
}

/** Lines of one part, its title among them. */
const PART_LINES = 6;

function add(counts: Map<string, number>, label: string): void {
  counts.set(label, (counts.get(label) ?? 0) + 1);
}
