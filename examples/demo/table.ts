import type { ActFigures } from './act1.ts';

const ROWS: readonly (readonly [what: string, value: (figures: ActFigures) => string | number])[] = [
  ['files', ({ tasks }) => tasks],
  ['parts of the report that are whole', ({ completed }) => completed],
  ['work done twice', ({ duplicate_results: n }) => n],
  ['work lost with its agent', ({ lost }) => lost],
  ['torn parts of the report', ({ torn }) => torn],
  ['paid calls', ({ paid_calls: n }) => n],
  ['of these, paid for twice', ({ wasted_calls: n }) => n],
  ['seconds', ({ seconds }) => seconds],
];

/** The two acts side by side. */
export function table(without: ActFigures | undefined, withSynod: ActFigures | undefined): string {
  const head = ['', 'without', 'with Synod'];
  const rows = ROWS.map(([what, value]) => [
    what,
    without ? String(value(without)) : '-',
    withSynod ? String(value(withSynod)) : '-',
  ]);
  return [head, ...rows]
    .map(([what = '', a = '', b = '']) => `   ${what.padEnd(36)}${a.padStart(10)}${b.padStart(13)}`)
    .join('\n');
}
