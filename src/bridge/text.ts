import type { LogEvent } from '../envelope/calls.ts';
import type { Envelope } from '../envelope/envelope.ts';
import { maskSecrets } from './mask.ts';
import { breakMentions, cleanText } from './neutralise.ts';
import { sentence } from './sentence.ts';

/** What is addressed to one agent and shown to all: who has got what. */
const FOR_ALL_THOUGH_TO_ONE: ReadonlySet<string> = new Set(['task.ack', 'lock.granted', 'lock.denied']);
/** Begins every line of a text but the first, so that no text can pass for somebody else's line. */
const CONTINUED = '│ ';
const FENCE = '```';

/** Whether an entry of the log is for people: what is for the room, and who has got what; no receipts. */
export function isForPeople({ envelope }: LogEvent): boolean {
  return envelope.to === undefined || FOR_ALL_THOUGH_TO_ONE.has(envelope.type);
}

/** An entry of a room's log as it is posted to a chat, before the service's own escaping: readable, harmless and masked. */
export function chatText({ envelope }: LogEvent): string {
  return breakMentions(envelope.type === 'room.post' ? post(envelope) : sentence(envelope, harmless));
}

/** What the bridge itself answers, which may hold names that agents chose: harmless and masked as well. */
export function answerText(text: string): string {
  return breakMentions(harmless(text));
}

function post({ from, text }: Envelope): string {
  // Masked before anything is split or marked: a secret must not hide in the seam.
  const clean = harmless(typeof text === 'string' ? text : '');
  let fenced = false;
  const lines = clean.split('\n').map((line, i) => {
    const marked = i === 0 || fenced || line.startsWith(FENCE) ? line : CONTINUED + line;
    if ((line.split(/`{3,}/).length - 1) % 2 === 1) fenced = !fenced;
    return marked;
  });
  // A fence that its author has left open would swallow the lines of others.
  if (fenced) lines.push(FENCE);
  const first = lines[0] ?? '';
  return `${harmless(from)}:${first.startsWith(FENCE) ? '\n' : ' '}${lines.join('\n')}`;
}

function harmless(text: string): string {
  return maskSecrets(cleanText(text));
}
