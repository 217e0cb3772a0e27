import type { Target } from '../../envelope/address.ts';
import type { Received, ReceiveArgs } from '../../envelope/calls.ts';
import type { Base, Envelope } from '../../envelope/envelope.ts';
import type { Json } from '../../envelope/fields.ts';

/** What a log has for a reader, and where it goes on. */
export type Page = Omit<Received, 'now'>;

/**
 * How a process reaches Synod's workflows: straight through Temporal, or through a hub. Each call is tried once; what a
 * failure means for it is what `classify` says of it.
 */
export interface Transport {
  /** The replies to each message, in order. What the first message opens or starts is opened; for what has ended its result answers. */
  request(target: Target, messages: readonly Base[]): Promise<Envelope[][]>;
  /** @param signal ends the call. */
  receive(workflowId: string, args: ReceiveArgs, signal: AbortSignal): Promise<Received>;
  /** What comes after a page that this has returned, or `receive`: the same, for who goes on reading. */
  next(workflowId: string, args: ReceiveArgs, signal: AbortSignal): Promise<Page>;
  /** A workflow's public state; undefined where there is no such workflow. */
  view(
    workflowId: string,
    query: { readonly [field: string]: Json } | undefined,
  ): Promise<{ [field: string]: Json } | undefined>;
}
