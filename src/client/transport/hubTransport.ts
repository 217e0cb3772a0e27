import { z } from 'zod';
import { received, type Received, type ReceiveArgs } from '../../envelope/calls.ts';
import { publicState, replies, type Base, type Envelope } from '../../envelope/envelope.ts';
import type { Json } from '../../envelope/fields.ts';
import { isRefusalCode, SynodError } from '../../envelope/refusal.ts';
import type { Target } from '../../envelope/address.ts';
import { HubFault } from './hubFault.ts';
import { HubStream } from './hubStream.ts';
import { linked } from '../timing/timing.ts';
import type { Page, Transport } from './transport.ts';

/** A call that has no answer after so long, in milliseconds, is made again; the hub itself answers sooner. */
const SILENCE_MS = 40_000;

/** The paths of a hub. */
export const HUB_PATHS = {
  request: '/v1/hub/request',
  receive: '/v1/hub/receive',
  stream: '/v1/hub/stream',
  view: '/v1/hub/view',
} as const;

const errorBody = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

/** Where a hub is, and who asks it. */
export interface HubAddress {
  /** E.g. `http://127.0.0.1:8787`. */
  readonly url: string;
  readonly token: string;
}

/** Through a hub (`synod gateway`): for many processes on a server that lets ten updates be in flight on a workflow. */
export class HubTransport implements Transport {
  readonly #address: HubAddress;
  readonly #closed: AbortSignal;
  /** What each reader of each workflow reads as it happens. */
  readonly #streams = new Map<string, { readonly agents: string; readonly stream: HubStream }>();

  /** @param closed fires when nothing is to be asked any more. */
  constructor(address: HubAddress, closed: AbortSignal) {
    this.#address = address;
    this.#closed = closed;
    const end = () => [...this.#streams.values()].forEach(({ stream }) => stream.close());
    closed.addEventListener('abort', end, { once: true });
  }

  async request({ workflowId, config }: Target, messages: readonly Base[]): Promise<Envelope[][]> {
    const call = { workflow_id: workflowId, messages, ...(config ? { config } : {}) };
    return z.object({ replies }).parse(await this.#post(HUB_PATHS.request, call)).replies;
  }

  async receive(workflowId: string, args: ReceiveArgs, signal: AbortSignal): Promise<Received> {
    return received.parse(await this.#post(HUB_PATHS.receive, { workflow_id: workflowId, ...args }, signal));
  }

  async next(workflowId: string, args: ReceiveArgs, signal: AbortSignal): Promise<Page> {
    const stream = this.#streamOf(workflowId, args);
    try {
      return await stream.next({ limit: args.limit, waitMs: args.wait_seconds * 1000 }, signal);
    } catch (error) {
      if (!signal.aborted) stream.close();
      throw error;
    }
  }

  /** The stream that goes on where a reader is, for the same agents; else a new one in its place. */
  #streamOf(workflowId: string, { reader = '', agents, after }: ReceiveArgs): HubStream {
    const who = agents.toSorted().join(' ');
    // A process with many agents has several readers of one workflow.
    const key = `${workflowId} ${reader}`;
    const open = this.#streams.get(key);
    if (open?.agents === who && open.stream.after === after && !open.stream.closed) return open.stream;
    open?.stream.close();
    const stream = new HubStream(
      after,
      async (signal) => await this.#call(HUB_PATHS.stream, { workflow_id: workflowId, reader, agents, after }, signal),
      () => {
        if (this.#streams.get(key)?.stream === stream) this.#streams.delete(key);
      },
    );
    this.#streams.set(key, { agents: who, stream });
    return stream;
  }

  async view(
    workflowId: string,
    query: { readonly [field: string]: Json } | undefined,
  ): Promise<{ [field: string]: Json } | undefined> {
    const call = { workflow_id: workflowId, ...(query ? { query } : {}) };
    return z.object({ view: publicState.nullable() }).parse(await this.#post(HUB_PATHS.view, call)).view ?? undefined;
  }

  async #post(path: string, call: object, signal?: AbortSignal): Promise<unknown> {
    const end = linked([this.#closed, signal], SILENCE_MS);
    try {
      const answer = await this.#call(path, call, end.signal);
      return await answer.json();
    } catch (cause) {
      throw this.#unanswered(cause);
    } finally {
      end.release();
    }
  }

  /** The answer where it is a good one. */
  async #call(path: string, call: object, signal: AbortSignal): Promise<Response> {
    const { url, token } = this.#address;
    try {
      const answer = await fetch(new URL(path, url), {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(call),
        signal,
      });
      if (answer.ok) return answer;
      throw faultOf(answer.status, await answer.json());
    } catch (cause) {
      throw this.#unanswered(cause);
    }
  }

  #unanswered(cause: unknown): Error {
    if (cause instanceof HubFault || cause instanceof SynodError) return cause;
    return new HubFault(`the hub at ${this.#address.url} does not answer`, { cause });
  }
}

/** An error that a hub answered: a refusal where it is one, else what its status says. */
function faultOf(status: number, body: unknown): Error {
  const parsed = errorBody.safeParse(body);
  const { code, message } = parsed.success ? parsed.data.error : { code: undefined, message: `it answered ${status}` };
  // Of these one may come again with the same.
  if (code !== 'draining' && code !== 'unknown' && isRefusalCode(code)) return new SynodError(code, message);
  return new HubFault(message, { status, ...(code === undefined ? {} : { code }) });
}
