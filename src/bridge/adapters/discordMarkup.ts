/**
 * Closed code fences and bare links: Discord reads no markup in these, and would show the backslashes. A link that runs into
 * what must be escaped would swallow the backslash: it is made no link.
 */
const VERBATIM = /```[^]*?```|https?:\/\/[^\s<]+[^<.,:;"'\]\s][.,:;"'\]]*(?=\s|$)/g;

/** A text as Discord must be sent it to show it as it is. */
export function escape(text: string): string {
  let escaped = '';
  let at = 0;
  for (const { 0: verbatim, index } of text.matchAll(VERBATIM)) {
    escaped += plain(text.slice(at, index)) + verbatim;
    at = index + verbatim.length;
  }
  return escaped + plain(text.slice(at));
}

/** A backslash makes a character of markup plain: https://support.discord.com/hc/en-us/articles/210298617 */
function plain(text: string): string {
  return text
    .replace(/[\\*_~`|<[\]]|:(?=\/\/)/g, '\\$&')
    .replace(/^([ \t]*)([-+>#])/gm, '$1\\$2')
    .replace(/^([ \t]*\d+)\./gm, '$1\\.');
}
