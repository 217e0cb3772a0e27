import type { LogEvent } from '../envelope/calls.ts';
import type { Envelope } from '../envelope/envelope.ts';
import { formatTimestamp, type Json } from '../envelope/fields.ts';

const MAX_TEXT = 200;
/** Control characters could move the cursor or recolour the screen; bidirectional marks could reorder a line. */
const UNSAFE = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** How an event is printed: a readable line, or one line of JSON. */
export type ConsoleFormat = 'text' | 'json';

/** One event of a room's log as one line for a terminal, without its line end. */
export function consoleLine(event: LogEvent, format: ConsoleFormat): string {
  if (format === 'json') return JSON.stringify(event);
  const { envelope } = event;
  return `${String(event.seq).padStart(5)}  ${timeOf(envelope)}  ${sentence(envelope)}`;
}

function timeOf({ ts }: Envelope): string {
  const parsed = Date.parse(ts);
  return Number.isNaN(parsed) ? '--:--:--' : formatTimestamp(parsed).slice(11, 19);
}

type Words = (envelope: Envelope, field: (name: string) => string) => string;

const WORDS: { readonly [type: string]: Words } = {
  'task.announce': ({ from, attempt }, field) =>
    attempt === undefined || attempt === 1
      ? `${plain(from)} announces ${field('task_id')}: ${field('title')}`
      : `${field('task_id')} is announced again, attempt ${field('attempt')}`,
  'task.accepted': (_, field) => `${field('task_id')} is on the board`,
  'task.claim': ({ from }, field) => `${plain(from)} claims ${field('task_id')}`,
  'task.ack': (_, field) =>
    `${field('to')} has ${field('task_id')}, token ${field('attempt')}, until ${field('lease_expires_at').slice(11, 19)}`,
  'task.closed': (_, field) => `${field('task_id')} is taken by ${field('holder')}`,
  'task.complete': ({ from }, field) => `${plain(from)} reports ${field('task_id')} done`,
  'task.completed': (_, field) => `${field('task_id')} is completed by ${field('holder')}`,
  'task.fail': ({ from }, field) => `${plain(from)} fails at ${field('task_id')}: ${field('reason')}`,
  'task.release': ({ from }, field) => `${plain(from)} hands back ${field('task_id')}`,
  'task.expired': (_, field) =>
    `the lease of ${field('holder')} on ${field('task_id')} has run out (attempt ${field('attempt')})`,
  'task.unclaimed': (_, field) => `nobody has claimed ${field('task_id')} yet`,
  'task.failed': (_, field) => `${field('task_id')} has failed: ${field('reason')}`,
  'task.cancelled': (_, field) => `${field('task_id')} is cancelled by ${field('by')}`,
  'room.join': ({ from }, field) => `${plain(from)} joins as ${field('kind')}: ${field('purpose')}`,
  'room.accepted': (_, field) => `heard ${field('to')}`,
  'room.post': ({ from }, field) => `${plain(from)}: ${field('text')}`,
  'synod.digest': (_, field) => `and ${field('counts')}`,
  error: (_, field) => `refused ${field('to')}: ${field('code')}, ${field('reason')}`,
};

function sentence(envelope: Envelope): string {
  const words = Object.hasOwn(WORDS, envelope.type) ? WORDS[envelope.type] : undefined;
  return words ? words(envelope, (name) => plain(envelope[name])) : `${plain(envelope.from)} ${plain(envelope.type)}`;
}

function plain(value: Json | undefined): string {
  const text = typeof value === 'string' ? value : value === undefined ? '?' : JSON.stringify(value);
  const safe = text.replace(UNSAFE, (char) =>
    char === '\n' || char === '\t' ? ' ' : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return safe.length > MAX_TEXT ? `${safe.slice(0, MAX_TEXT)}…` : safe;
}
