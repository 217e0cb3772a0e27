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
 * What a workflow has logged and the room has not been told yet. At most {@link MAX_MIRRORED_A_SECOND} envelopes go out
 * at a time; of what is more only the counts do, but for the urgent ones, which always go whole.
 */
export class Mirror {
  #pending: LogEvent[] = [];
  #bytes = 0;
  #plain = 0;
  #digest: Digest | undefined;
  readonly #urgent: Urgent;

  constructor(urgent: Urgent = new Set<string>(), snapshot?: MirrorSnapshot) {
    this.#urgent = urgent;
    this.#digest = snapshot?.digest;
    for (const event of snapshot?.pending ?? []) this.add(event);
  }

  get pending(): number {
    return this.#pending.length + (this.#digest ? 1 : 0);
  }

  add(event: LogEvent): void {
    const size = utf8Bytes(JSON.stringify(event));
    const urgent = this.#urgent.has(event.envelope.type, event.envelope);
    const full = this.#bytes + size > MAX_MIRROR_BYTES || (!urgent && this.#plain >= MAX_MIRRORED_A_SECOND - 1);
    if (full) {
      this.#digest = grown(this.#digest, event);
      return;
    }
    this.#pending.push(event);
    this.#bytes += size;
    if (!urgent) this.#plain += 1;
  }

  /** All that is to be told now, in order: the kept events and, last, the digest of the others. */
  take(workflowId: string, now: number): LogEvent[] {
    const events = this.#pending;
    if (this.#digest)
      events.push({
        seq: Math.max(this.#digest.to_seq, events.at(-1)?.seq ?? 0),
        envelope: digestEnvelope(this.#digest, workflowId, now),
      });
    this.#pending = [];
    this.#bytes = 0;
    this.#plain = 0;
    this.#digest = undefined;
    return events;
  }

  /** Puts back what was taken and not told. */
  snapshot(untold: readonly LogEvent[] = []): MirrorSnapshot {
    return { pending: [...untold, ...this.#pending], digest: this.#digest };
  }
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
