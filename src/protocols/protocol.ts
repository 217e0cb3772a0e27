import type { z } from 'zod';
import type { AddressKind } from '../envelope/address.ts';
import type { Base, Envelope } from '../envelope/envelope.ts';
import type { Json } from '../envelope/fields.ts';
import type { Refusal } from '../envelope/refusal.ts';
import type { BoardRow, Publication } from '../envelope/room.ts';

/** What a protocol emits; the host stamps `id`, `from`, `ts`, `in_reply_to` and `seq`. */
export interface Outgoing {
  readonly type: string;
  /** The one agent that it is for; absent: the room. */
  readonly to?: string | undefined;
  readonly [field: string]: Json | undefined;
}

/**
 * What was decided about a message, as few numbers and strings as rebuild the answer from the message's body.
 * It is kept with the message's identity, so that a repeat gets the first answer again.
 */
export type Verdict = readonly [kind: string, ...parts: (string | number | null)[]];

/** What a protocol is asked to decide. */
export type Input<M> =
  | { readonly kind: 'message'; readonly message: M }
  /** The time that `nextDeadline` named has come. */
  | { readonly kind: 'deadline' }
  /** An effect has ended. */
  | {
      readonly kind: 'effect';
      readonly name: Effect['name'];
      readonly key: string;
      readonly input: Effect['input'];
      /** Why it did not succeed. */
      readonly failure?: string;
    }
  /** The configuration has changed: what it allows now may be given. */
  | { readonly kind: 'config' }
  /** What a source publishes to the room; other protocols never get it. */
  | { readonly kind: 'publish'; readonly publication: Publication };

/** A side effect to run as an activity, at least once, under an idempotency key that the host gives it. */
export interface Effect {
  /** `escalate`: something needs attention. `rollback`: a lock was lost, and what its holder began must be undone. */
  readonly name: 'escalate' | 'rollback';
  readonly input: { readonly [field: string]: Json };
}

/** A decision that changes something, or answers. */
export interface Decided<S> {
  readonly state: S;
  /** For messages: what `answer` rebuilds the replies from. */
  readonly verdict?: Verdict;
  /** The message and its replies are answered but not logged. */
  readonly quiet?: boolean;
  /** Neither logged nor remembered: a read, or an answer that changed nothing. Sent again, the message is decided anew. */
  readonly transient?: boolean;
  /** Fields that the message gains where it is logged, or, undefined, loses. */
  readonly note?: { readonly [field: string]: Json | undefined };
  /** Emissions that answer nobody, in order, after the replies. */
  readonly emit?: readonly Outgoing[];
  /** Envelopes of others, appended as they are. */
  readonly relay?: readonly Envelope[];
  readonly effects?: readonly Effect[];
  /** The message's identity is part of the state for good, however many come after it. */
  readonly pin?: boolean;
}

export type Decision<S> = Decided<S> | { readonly refuse: Refusal };

export interface Deadline {
  /** Epoch milliseconds, in Temporal's time. */
  readonly at: number;
  /** What the timer is for, in one line. */
  readonly summary: string;
  /** Such deadlines come and go with many messages: a timer for one may run out for nothing, which costs less than to cancel and restart it. */
  readonly passing?: true;
}

/** A time in which the workflow could not run, for want of a worker or a server: nobody could be received. */
export interface Absence {
  /** When it ended, epoch milliseconds. */
  readonly now: number;
  /** How long it was at least, in milliseconds. */
  readonly ms: number;
}

/** What a protocol may know of its surroundings. */
export interface Context {
  /** Epoch milliseconds, in Temporal's time. */
  readonly now: number;
  readonly room: string;
  readonly workflowId: string;
  /** The configuration in force, by key. */
  readonly config: { readonly [key: string]: Json };
  /** The rules that this run follows to its end: a change of what is emitted or of effects must be asked for by it. See `src/host/revision.ts`. */
  readonly revision: number;
  /** Whether a message of this identity was decided, as far as the workflow remembers. */
  decided(from: string, key: string): boolean;
}

/** Which emissions a digest never swallows; a set of types is one. */
export interface Urgent {
  has(type: string, envelope: Envelope): boolean;
}

/** A message's schema and who may send it. */
export interface MessageRule<M> {
  readonly schema: z.ZodType<M>;
  /** Only `operator:…` may send it. */
  readonly operator?: boolean;
}

/**
 * A primitive: a pure, synchronous state machine. It has no clock, no randomness, no input or output and no mutable
 * state of its own, and its states are JSON, so that they can be explored, replayed and carried over.
 */
export interface Protocol<S, M extends Base> {
  /** The workflow type. */
  readonly workflowType: string;
  /** Its part of the workflow id. */
  readonly kind: AddressKind;
  /** The area of its messages' types; `{area}.accepted` is the answer where no other is named. */
  readonly area: string;
  /** The field that names the instance; absent where a room has one. */
  readonly nameField?: 'task_id' | 'proposal_id' | 'phase' | 'role' | 'chat' | 'namespace';
  /** The message type that opens it, for those that complete by themselves. */
  readonly opening?: string;
  readonly messages: { readonly [type: string]: MessageRule<M> };
  /** Its configuration keys, beside those of every workflow. */
  readonly config: { readonly [key: string]: z.ZodType<Json> };
  /** Those of them that only the start sets. */
  readonly fixedConfig?: ReadonlySet<string>;
  /** The shape of its state, checked when a run takes over from an earlier one. */
  readonly state: z.ZodType<S>;
  /** It may be one of several, `{workflow id}:0` and so on, among which names are spread. */
  readonly sharded?: boolean;
  /** The field by which `view` is asked for a part of the state, in pages; absent: only the whole can be asked for. */
  readonly queryField?: string;
  /** Emissions that a digest never swallows. */
  readonly urgent?: Urgent;
  /** What the room, and so its board, hubs, streams and chats, are given of what is logged here; undefined: nothing. Absent: all of it. */
  readonly published?: (envelope: Envelope) => Envelope | undefined;

  /** The state before anything happened. */
  initial(): S;
  /** An upper bound of the bytes of a state's JSON, for protocols whose states are too large to be counted at each message. */
  size?(state: S): number;
  decide(state: S, input: Input<M>, context: Context): Decision<S>;
  /**
   * What was decided about a message that the host remembers no more, as far as the state shows it: of a request that
   * waits or is held. `other` where a message of the same identity and another body was. Absent: the state shows nothing.
   */
  known?(state: S, message: M, context: Context): Verdict | 'other' | undefined;
  /** The replies that a verdict stands for, the same for ever: of the state it may read only what never changes once opened. */
  answer(message: M, verdict: Verdict, state: S): readonly Outgoing[];
  /** What became of a message that was answered with `verdict`; sent after the first reply when it is repeated. */
  since(state: S, message: M, verdict: Verdict): readonly Outgoing[];
  nextDeadline(state: S): Deadline | null;
  /**
   * Gives back what an absence has taken: a lease as if it were renewed at its end; a window or a wait so long as the absence was,
   * at most its own length. `extended` says of how many. Absent where every deadline is absolute.
   */
  resumed?(state: S, absence: Absence): { readonly state: S; readonly extended: number };
  /** The public state. `query` is what an operator asks for, already parsed where the protocol takes any. */
  view(state: S, query?: unknown): { readonly [field: string]: Json };
  /** A few plain sentences for an operator. */
  details(state: S): string;
  /** Its line on the room's board. */
  row(state: S): BoardRow | undefined;
  /** The last emission of a protocol that has ended. */
  outcome(state: S): Outgoing | undefined;
  /** Whether an agent still has a lock, a lease or a question here. */
  involves(state: S, agent: string): boolean;
}

/** The end of a window or a wait after an absence: so long again as the absence was, at most its own length. */
export function putOff(until: number, span: number, { now, ms }: Absence): number {
  return Math.max(until, now + Math.min(span, ms));
}

/** The messages of one area as a protocol's table, with those that are for operators marked. */
export function rules<M>(
  schemas: { readonly [type: string]: z.ZodType<M> },
  operator: readonly string[] = [],
): { [type: string]: MessageRule<M> } {
  return Object.fromEntries(
    Object.entries(schemas).map(([type, schema]) => [type, { schema, operator: operator.includes(type) }]),
  );
}
