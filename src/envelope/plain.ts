const MARKUP = /[\\`*_{}[\]()#+!|<>&~]/g;
const CONTROL = /\p{Cc}+/gu;
const MAX_SHOWN = 200;

/** A user's text for an operator's page that renders Markdown: shown as it is, on one line, and not too long. */
export function plain(text: string): string {
  const short = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  return short.replace(CONTROL, ' ').replace(MARKUP, '\\$&');
}

/** A time for people: to the second. */
export function clock(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
