import { valueOf, type ByName } from '../envelope/byName.ts';
import type { LogEvent } from '../envelope/calls.ts';
import { SYNOD, type Envelope } from '../envelope/envelope.ts';
import { formatTimestamp } from '../envelope/fields.ts';
import { MAX_MIRROR_BYTES, MAX_MIRRORED_A_SECOND, utf8Bytes } from '../envelope/limits.ts';
import type { Urgent } from '../protocols/protocol.ts';

/** Events that were counted instead of kept. */
interface Digest {
  readonly from_seq: number;
  readonly to_seq: number;
  readonly counts: Readonly<ByName<number>>;
}

export interface MirrorSnapshot {
  readonly pending: readonly LogEvent[];
  readonly digest?: Digest | undefined;
}

/**
 * What a workflow has logged and is still to be published to the room. At most {@link MAX_MIRRORED_A_SECOND} envelopes go out
 * at a time; of what is more only the counts do, but for the urgent ones, which go whole within {@link MAX_MIRROR_BYTES}.
 */
export class Mirror {
  /** Taken, but not known to be published. */
  #unpublished: readonly LogEvent[] = [];
  #pending: LogEvent[] = [];
  #bytes = 0;
  #unpublishedBytes = 0;
  #plain = 0;
  #digest: Digest | undefined;
  readonly #urgent: Urgent;

  constructor(urgent: Urgent = new Set<string>(), snapshot?: MirrorSnapshot) {
    this.#urgent = urgent;
    this.#digest = snapshot?.digest;
    for (const event of snapshot?.pending ?? []) this.#keep(event, bytesOf(event));
  }

  get pending(): number {
    return this.#pending.length + (this.#digest ? 1 : 0);
  }

  add(event: LogEvent): void {
    const bytes = bytesOf(event);
    const urgent = this.#isUrgent(event);
    const full =
      this.#bytes + this.#unpublishedBytes + bytes > MAX_MIRROR_BYTES ||
      (!urgent && this.#plain >= MAX_MIRRORED_A_SECOND - 1);
    if (full) this.#digest = grown(this.#digest, event);
    else this.#keep(event, bytes);
  }

  /** All that is to be published now, in order: the kept events and, last, the digest of the others. They stay here until they are {@link published}. */
  take(workflowId: string, now: number): readonly LogEvent[] {
    const events = this.#pending;
    if (this.#digest) {
      const seq = Math.max(this.#digest.to_seq, events.at(-1)?.seq ?? 0);
      this.#keep({ seq, envelope: digestEnvelope(this.#digest, workflowId, now) }, 0);
    }
    this.#unpublished = events;
    this.#unpublishedBytes = this.#bytes;
    this.#pending = [];
    this.#bytes = 0;
    this.#plain = 0;
    this.#digest = undefined;
    return events;
  }

  /** What was taken has been published. */
  published(): void {
    this.#unpublished = [];
    this.#unpublishedBytes = 0;
  }

  snapshot(): MirrorSnapshot {
    return { pending: [...this.#unpublished, ...this.#pending], digest: this.#digest };
  }

  #keep(event: LogEvent, bytes: number): void {
    this.#pending.push(event);
    this.#bytes += bytes;
    if (!this.#isUrgent(event)) this.#plain += 1;
  }

  #isUrgent({ envelope }: LogEvent): boolean {
    return this.#urgent.has(envelope.type, envelope);
  }
}

function bytesOf(event: LogEvent): number {
  return utf8Bytes(JSON.stringify(event)) + 1;
}

function grown(digest: Digest | undefined, { seq, envelope }: LogEvent): Digest {
  const counts = digest?.counts ?? {};
  const count = valueOf(counts, envelope.type) ?? 0;
  return {
    from_seq: Math.min(digest?.from_seq ?? seq, seq),
    to_seq: Math.max(digest?.to_seq ?? seq, seq),
    counts: { ...counts, [envelope.type]: count + 1 },
  };
}

function digestEnvelope(digest: Digest, workflowId: string, now: number): Envelope {
  return {
    type: 'synod.digest',
    id: `digest-${digest.from_seq}-${digest.to_seq}`,
    from: SYNOD,
    ts: formatTimestamp(now),
    source: workflowId,
    from_seq: digest.from_seq,
    to_seq: digest.to_seq,
    counts: digest.counts,
  };
}
