import type { Target } from './address.ts';
import type { Base, Envelope } from './envelope.ts';
import type { Json } from './fields.ts';
import type { Publication } from './room.ts';

/** The argument of the activity that publishes to a room what one of its primitives has logged. */
export interface PublishInput {
  readonly room: string;
  readonly publication: Publication;
}

/** The argument of the activity by which a workflow sends a message to a primitive that may not run. */
export interface SendInput {
  readonly target: Target;
  readonly message: Base;
}

/** An effect that the user may supply. It runs at least once; `key` is the same at every run. */
export interface EffectInput {
  /** The idempotency key, `{source}:{when it was started, epoch ms}-{number}`: no other effect ever has it. */
  readonly key: string;
  readonly room: string;
  /** The workflow that it comes from. */
  readonly source: string;
  readonly input: { readonly [field: string]: Json };
}

/** The activities that Synod's workflows call, by the names under which a worker registers them. */
export interface SynodActivities {
  synodPublish(input: PublishInput): Promise<void>;
  /** Sends one message, starts the primitive where it does not run, and returns the replies. */
  synodSend(input: SendInput): Promise<Envelope[]>;
  /** Something needs attention: a task has failed for good. */
  synodEscalate(input: EffectInput): Promise<void>;
  /** A lock was lost: undo what its holder began. */
  synodRollback(input: EffectInput): Promise<void>;
}
