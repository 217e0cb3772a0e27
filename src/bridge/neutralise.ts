/** Line ends of every kind, one of which alone could end a line where nobody sees it. */
const LINE_ENDS = /\r\n|[\r\n\u0085\u2028\u2029\v\f]/g;
/** Control characters could move a cursor or end a protocol's line; bidirectional marks could reorder what is read. */
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
/** Characters that nobody sees, in which words can be hidden or split. The joiners that scripts and emoji need stay. */
const INVISIBLE = /[\u00ad\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb]/g;
/** Tag letters spell words that only machines read; but a flag such as England's is made of them. */
const TAGS = /(\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{1,8}\u{e007f})|[\u{e0000}-\u{e007f}]/gu;
/** More marks on one letter are no script, but a tower over the lines around. */
const TOWERS = /(\p{M}{8})\p{M}+/gu;
const MANY_LINES = /\n{4,}/g;
const MANY_SPACES = / {81,}/g;
/** `@name` and `<@…>`, `<!…>`, `<#…>` of all services; an address such as `a@b` is none. */
const MENTION = /(?<![\p{L}\p{N}._+\]-])@(?=[\p{L}\p{N}_])|<(?=[@!#&])/gu;
const BREAK = '\u200b';

/** What would move the cursor, recolour the screen or reorder the line, shown instead of done. */
export function showUnsafe(text: string): string {
  return text.replace(UNSAFE, (char) =>
    char === '\n' ? char : char === '\t' ? ' ' : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A text of somebody else as lines that do nothing but be read. Line ends become `\n`. */
export function cleanText(text: string): string {
  return showUnsafe(text.replace(LINE_ENDS, '\n'))
    .replace(/\p{Surrogate}/gu, '\ufffd')
    .replace(INVISIBLE, '')
    .replace(TAGS, '$1')
    .replace(TOWERS, '$1')
    .replace(MANY_LINES, '\n\n\n')
    .replace(MANY_SPACES, ' '.repeat(80));
}

/** Breaks whatever a chat service could take for a mention, by a space of no width that readers do not see. */
export function breakMentions(text: string): string {
  return text.replace(MENTION, `$&${BREAK}`);
}
