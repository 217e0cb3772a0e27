/** The sizes and bounds of the wire contract, one place for each. Bytes are UTF-8 bytes of JSON. */

const KIB = 1024;

/** One envelope, as sent and as emitted. */
export const MAX_ENVELOPE_BYTES = 16 * KIB;
/** Envelopes in one `request`. */
export const MAX_REQUEST_ENVELOPES = 512;
/** Bytes of one `request`. Temporal refuses payloads over 2 MiB in a way no workflow can answer, so this is checked before sending. */
export const MAX_REQUEST_BYTES = 1024 * KIB;
/** Bytes of the replies to one `request`: Temporal takes no result over 2 MiB, and what an update has done cannot be undone. */
export const MAX_REPLY_BYTES = 1024 * KIB;
/** Nesting of JSON in free-form fields: deeper input could overflow the stack of a recursive reader. */
export const MAX_JSON_DEPTH = 64;
/** Names that one emitted list holds beside its count. */
export const MAX_LISTED_NAMES = 32;

/** Entries and bytes of a workflow's log; the oldest go first. */
export const MAX_LOG_ENTRIES = 1_000;
export const MAX_LOG_BYTES = 384 * KIB;
/** Bytes of a protocol's own state; what would pass it is refused with `over_limit`. */
export const MAX_STATE_BYTES = 384 * KIB;
/** Remembered identities: the latest of the workflow, and the latest of each of the senders last active. */
export const MAX_IDENTITIES = 2_048;
export const MAX_IDENTITY_BYTES = 256 * KIB;
export const MAX_SENDERS = 256;
export const IDENTITIES_A_SENDER = 2;
/** Workflows remembered by `reply_to`. */
export const MAX_SUBSCRIBERS = 1_024;
export const MAX_SUBSCRIBER_BYTES = 128 * KIB;
/** Bytes of what is still to be signalled to them. */
export const MAX_OUTBOX_BYTES = 192 * KIB;
/** Bytes of what is still to be published to the room; what is more is published as a digest. */
export const MAX_MIRROR_BYTES = 192 * KIB;
/** Bytes of the effects of one name that are to be run: lost locks wait for their rollback in the state, further escalations are only logged. */
export const MAX_EFFECT_BYTES = 64 * KIB;
/** Bytes of a workflow's configuration; a start with more fails, a change to more is refused. */
export const MAX_CONFIG_BYTES = 64 * KIB;
/** Bytes of all that a run hands to the next one. Temporal takes no argument over 2 MiB, and a run that cannot hand over answers nobody. */
export const MAX_HANDOVER_BYTES = 1_792 * KIB;

/** A `receive` waits at most this long, in seconds, and returns at most so many events. */
export const MAX_WAIT_SECONDS = 20;
export const MAX_RECEIVE_EVENTS = 200;
/** Agents for whom one `receive` reads. */
export const MAX_RECEIVE_AGENTS = 1_024;
/** Waits held at once on a workflow: Temporal allows 10 updates in flight unless its server is configured for more. */
export const DEFAULT_MAX_WAITS = 3;

/** Longest duration, in seconds: 30 days. */
export const MAX_DURATION_SECONDS = 30 * 24 * 3600;
/** Seconds that a finished task, proposal or barrier goes on answering. */
export const DEFAULT_LINGER_SECONDS = 60;
/** Seconds after which a workflow that its first request did not open fails. */
export const UNOPENED_SECONDS = 60;
/** Renewals that fit into one lease: a single one that is lost must not lose it. */
export const RENEWALS_A_LEASE = 3;
/** Hops an envelope may still make where it names none. */
export const DEFAULT_MAX_HOPS = 8;

/** Envelopes of one source that reach the room in a second; what is more is sent as a digest. */
export const MAX_MIRRORED_A_SECOND = 200;
/** Rows on a room's board. */
export const MAX_BOARD_ROWS = 3_000;

/** Bytes of a string in UTF-8. A lone surrogate counts as the three bytes of its replacement. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    // A surrogate pair is four bytes over two units: two more than counted, one for each half.
    bytes += unit < 0x800 || isPaired(text, i, unit) ? 1 : 2;
  }
  return bytes;
}

function isPaired(text: string, i: number, unit: number): boolean {
  if (unit < 0xd800 || unit > 0xdfff) return false;
  const other = unit < 0xdc00 ? text.charCodeAt(i + 1) : text.charCodeAt(i - 1);
  return unit < 0xdc00 ? other >= 0xdc00 && other <= 0xdfff : other >= 0xd800 && other <= 0xdbff;
}

/** Whether a value's JSON is at most `bytes` long, without counting where its length is enough. */
export function fitsBytes(json: string, bytes: number): boolean {
  if (json.length > bytes) return false;
  return json.length * 3 <= bytes || utf8Bytes(json) <= bytes;
}
