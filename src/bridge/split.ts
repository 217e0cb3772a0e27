const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });
const FENCE = '```';

/** One part of a text that is too long for one post. */
export interface Part {
  /** To be posted: the body, in code fences that are closed and reopened where it stands in one. */
  readonly text: string;
  /** The bodies of all parts, one after the other, are the text. */
  readonly body: string;
}

/**
 * Splits a text into parts that fit, at the end of a line or a word where there is one in the second half, else between two
 * characters as people see them. Only one that does not fit alone is torn, between code points.
 * @param fits whether a text may be one post: true for every shorter one too.
 */
export function split(text: string, fits: (text: string) => boolean): Part[] {
  const parts: Part[] = [];
  let opener = '';
  for (let start = 0; start < text.length || parts.length === 0;) {
    const rest = text.slice(start);
    const whole = wrapped(rest, opener);
    const length = fits(whole.text) ? rest.length : lengthOf(rest, opener, fits);
    const part = wrapped(rest.slice(0, length), opener);
    parts.push({ text: part.text, body: rest.slice(0, length) });
    opener = part.opener;
    start += length;
  }
  return parts;
}

/** How much of the text goes into this part; at least one code point. */
function lengthOf(rest: string, opener: string, fits: (text: string) => boolean): number {
  const reaches = (length: number): boolean => fits(wrapped(rest.slice(0, length), opener).text);
  const graphemes = longest(boundaries(rest), reaches);
  if (graphemes === 0) {
    const points: number[] = [];
    for (let at = 0, seen = 0; at < rest.length && seen < 256; seen++) {
      at += rest.codePointAt(at)! > 0xffff ? 2 : 1;
      points.push(at);
    }
    return longest(points, reaches) || (points[0] ?? rest.length);
  }
  const half = Math.floor(graphemes / 2);
  const within = rest.slice(0, graphemes);
  for (const separator of ['\n', ' ']) {
    const at = within.lastIndexOf(separator) + 1;
    if (at > half && reaches(at)) return at;
  }
  return graphemes;
}

/** The largest of some ascending lengths that satisfies; 0 where none does. */
function longest(lengths: readonly number[], reaches: (length: number) => boolean): number {
  let low = 0;
  let high = lengths.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (reaches(lengths[middle] ?? 0)) low = middle + 1;
    else high = middle;
  }
  return lengths[low - 1] ?? 0;
}

/** Where a text may be cut: after each grapheme, but not inside of a run of backticks, which would make another fence of it. */
function boundaries(text: string): number[] {
  const ends: number[] = [];
  for (const { index, segment } of segmenter.segment(text)) {
    const end = index + segment.length;
    if (segment === '`' && text[end] === '`') continue;
    ends.push(end);
  }
  return ends;
}

/** A body as it is posted after what `opener` has opened, and what is open after it. */
function wrapped(body: string, opener: string): { text: string; opener: string } {
  const open = openAfter(body, opener);
  const before = opener === '' ? '' : `${opener}\n`;
  const after = open === '' ? '' : body.endsWith('\n') || body === '' ? FENCE : `\n${FENCE}`;
  return { text: before + body + after, opener: open };
}

/** The code fence, with its language, that is open at the end of a text; empty where none is. */
function openAfter(text: string, opener: string): string {
  let open = opener;
  for (const { 1: language = '' } of text.matchAll(/`{3,}(?:([\w+#.-]{0,30})(?=\n))?/g)) {
    open = open === '' ? FENCE + language : '';
  }
  return open;
}
