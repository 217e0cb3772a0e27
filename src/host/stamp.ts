import { markOf } from '../envelope/address.ts';
import { sha256Hex } from '../envelope/canonical.ts';
import { SYNOD, type Envelope } from '../envelope/envelope.ts';
import { formatTimestamp } from '../envelope/fields.ts';
import { MAX_ENVELOPE_BYTES, MAX_REPLY_BYTES, fitsBytes, utf8Bytes } from '../envelope/limits.ts';
import type { Refusal } from '../envelope/refusal.ts';
import type { Outgoing } from '../protocols/protocol.ts';

/** Fields that say what an envelope is and for whom: never left out for size. */
const ESSENTIAL = new Set([
  'type',
  'id',
  'from',
  'to',
  'ts',
  'seq',
  'in_reply_to',
  'task_id',
  'proposal_id',
  'phase',
  'role',
  'attempt',
  'epoch',
  'holder',
  'source',
  'source_seq',
]);

/** What is known of the message that is answered; of a malformed one not all is. */
export interface Answered {
  readonly id: string | undefined;
  readonly from: string | undefined;
}

/** What a primitive emits, made into envelopes: who it is from, what it answers, when, and under which id. */
export class Stamp {
  readonly #prefix: string;

  constructor(workflowId: string) {
    this.#prefix = markOf(workflowId);
  }

  /** An emission that is logged as `seq`. */
  logged(outgoing: Outgoing, seq: number, at: number, answers?: Answered): Envelope {
    return this.#envelope(outgoing, `${this.#prefix}-${seq}`, at, answers, seq);
  }

  /** The answer that a message was accepted: it has the message's own place in the log, `seq`, and none of itself. */
  accepted(outgoing: Outgoing, seq: number, at: number, answers: Answered): Envelope {
    return this.#envelope(outgoing, `${this.#prefix}-a${seq}`, at, answers, seq);
  }

  /** A reply that is not logged; `index` distinguishes the replies to one message. */
  unlogged(outgoing: Outgoing, index: number | string, at: number, answers: Answered): Envelope {
    const mark = sha256Hex(`${answers.from ?? ''} ${answers.id ?? at} ${index}`).slice(0, 16);
    return this.#envelope(outgoing, `${this.#prefix}-r${mark}`, at, answers);
  }

  #envelope({ type, to, ...fields }: Outgoing, id: string, at: number, answers?: Answered, seq?: number): Envelope {
    return fit({
      type,
      id,
      from: SYNOD,
      ...(to === undefined ? {} : { to }),
      ts: formatTimestamp(at),
      ...(answers?.id === undefined ? {} : { in_reply_to: answers.id }),
      ...(seq === undefined ? {} : { seq }),
      ...fields,
    });
  }
}

/** Whether a reply is `{area}.accepted`. The accepted message is the event, so this answer is not logged. */
export function isAcceptance({ type }: { readonly type: string }): boolean {
  return type.endsWith('.accepted');
}

/** A refusal as something to emit. */
export function refused({ code, reason }: Refusal, to: string | undefined): Outgoing {
  return { type: 'error', ...(to === undefined ? {} : { to }), code, reason };
}

/** An envelope within its size: where the primitive's own fields take it past that, the largest free ones are left out and named. */
export function fit(envelope: Envelope, bytes: number = MAX_ENVELOPE_BYTES): Envelope {
  if (fitsBytes(JSON.stringify(envelope), bytes)) return envelope;
  const bySize = Object.keys(envelope)
    .filter((field) => !ESSENTIAL.has(field))
    .map((field) => ({ field, size: utf8Bytes(JSON.stringify(envelope[field] ?? null)) }))
    .sort((a, b) => b.size - a.size);
  const omitted: string[] = [];
  const smaller: { -readonly [Field in keyof Envelope]: Envelope[Field] } = { ...envelope, omitted };
  for (const { field } of bySize) {
    omitted.push(field);
    delete smaller[field];
    if (fitsBytes(JSON.stringify(smaller), bytes)) break;
  }
  return smaller;
}

/** The replies to one request within what an update may return: where all of them together are larger, each is fitted into its share. */
export function fitAll(replies: Envelope[][]): Envelope[][] {
  const count = replies.reduce((sum, each) => sum + each.length, 0);
  if (count * MAX_ENVELOPE_BYTES <= MAX_REPLY_BYTES || fitsBytes(JSON.stringify(replies), MAX_REPLY_BYTES))
    return replies;
  const share = Math.floor(MAX_REPLY_BYTES / count);
  return replies.map((each) => each.map((reply) => fit(reply, share)));
}
