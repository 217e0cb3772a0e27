import { z } from 'zod';
import { name, seconds, whole, type Json } from '../../envelope/fields.ts';
import { explain, parseErrors, SynodError, type RefusalCode } from '../../envelope/refusal.ts';
import { known, type Keys } from '../../envelope/options.ts';

/** What a handler is given. */
export interface Work {
  readonly room: string;
  readonly taskId: string;
  readonly title: string;
  readonly input: Json | undefined;
  /** The fencing token: hand it to every resource that the work writes to (see `checkToken`). */
  readonly token: number;
  /**
   * Fires when the lease is lost, when the task is cancelled, and when the worker is being stopped. Throw then
   * (`signal.throwIfAborted()`): what is returned counts as done, also after it has fired.
   */
  readonly signal: AbortSignal;
}

/** Does one task. What it returns is the result (JSON); what it throws fails the attempt, to be retried by whoever claims it next. */
export type Handler = (work: Work) => Promise<Json | undefined | void>;

/** Throw it in a handler to say whether another attempt makes sense. */
export class TaskFailure extends Error {
  override readonly name = 'TaskFailure';
  readonly retry: boolean;
  constructor(reason: string, options: { retry: boolean }) {
    super(reason);
    this.retry = options.retry;
  }
}

/** How an attempt went, for whoever observes a worker. */
export type WorkReport =
  | { readonly kind: 'started' | 'completed' | 'released'; readonly taskId: string; readonly token: number }
  | { readonly kind: 'failed' | 'lost'; readonly taskId: string; readonly token: number; readonly reason: string }
  | {
      /** The task's workflow does not take what it was sent: a claim, or how an attempt ended. */
      readonly kind: 'refused';
      readonly taskId: string;
      /** Undefined where it was the claim. */
      readonly token: number | undefined;
      readonly code: RefusalCode;
      readonly reason: string;
    };

/** Options of `agent.work`. */
export interface WorkOptions {
  /**
   * Ends the loop. A handler that throws then has its task handed back at once; one that goes on is waited for. Where the
   * server is away, handing back is tried for five seconds, and a result is kept up for as long as its lease lasts.
   */
  readonly signal?: AbortSignal;
  /** What this worker can do; tasks that ask for more are left to others. */
  readonly capabilities?: readonly string[];
  /** Tasks at once; default 1. */
  readonly concurrency?: number;
  /** Longest wait before a claim, in seconds; default 0.25. Forty workers must not all claim at once. */
  readonly claimJitterSeconds?: number;
  /** A shorter lease than the announced one, in seconds; of the two the shorter is used. */
  readonly leaseSeconds?: number;
  readonly onReport?: (report: WorkReport) => void;
}

const KEYS: Keys<WorkOptions> = {
  signal: true,
  capabilities: true,
  concurrency: true,
  claimJitterSeconds: true,
  leaseSeconds: true,
  onReport: true,
};
const values = z.object({
  signal: z
    .custom<AbortSignal>((value) => value instanceof EventTarget && 'aborted' in value, 'must be an AbortSignal')
    .optional(),
  capabilities: z.array(name).optional(),
  concurrency: whole(1).optional(),
  claimJitterSeconds: seconds({ zero: true }).optional(),
  leaseSeconds: seconds().optional(),
});

/** @throws SynodError `invalid_envelope` naming the option that is none, or is malformed. */
export function checkWorkOptions(options: WorkOptions): void {
  known('options', options, KEYS);
  const parsed = values.safeParse(options, parseErrors);
  if (!parsed.success) throw new SynodError('invalid_envelope', explain(parsed.error, 'options'));
}
