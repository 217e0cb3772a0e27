import type { LogEvent } from '../envelope/calls.ts';
import type { Envelope } from '../envelope/envelope.ts';
import { formatTimestamp } from '../envelope/fields.ts';
import { maskSecrets } from './mask.ts';
import { showUnsafe } from './neutralise.ts';
import { sentence } from './sentence.ts';

/** How an event is printed: a readable line, or one line of JSON. */
export type ConsoleFormat = 'text' | 'json';

/** One event of a room's log as one line for a terminal, without its line end. */
export function consoleLine(event: LogEvent, format: ConsoleFormat): string {
  if (format === 'json') return JSON.stringify(event);
  const { envelope } = event;
  return `${String(event.seq).padStart(5)}  ${timeOf(envelope)}  ${lineOf(envelope)}`;
}

/** What an envelope means, as one line of bounded length that is harmless and masked. */
export function lineOf(envelope: Envelope): string {
  return sentence(envelope, harmless);
}

function timeOf({ ts }: Envelope): string {
  const parsed = Date.parse(ts);
  return Number.isNaN(parsed) ? '--:--:--' : formatTimestamp(parsed).slice(11, 19);
}

function harmless(text: string): string {
  return maskSecrets(showUnsafe(text));
}
