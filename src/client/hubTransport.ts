import { z } from 'zod';
import { received, type Received, type ReceiveArgs } from '../envelope/calls.ts';
import { publicState, replies, type Base, type Envelope } from '../envelope/envelope.ts';
import type { Json } from '../envelope/fields.ts';
import { isRefusalCode, SynodError } from '../envelope/refusal.ts';
import type { Target } from '../envelope/address.ts';
import { linked } from './timing.ts';
import type { Transport } from './transport.ts';

/** A call that has no answer after so long, in milliseconds, is made again; the hub itself answers sooner. */
const SILENCE_MS = 40_000;

/** The paths of a hub. */
export const HUB_PATHS = { request: '/v1/hub/request', receive: '/v1/hub/receive', view: '/v1/hub/view' } as const;

const errorBody = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

/** A call that a hub did not answer as asked. */
export class HubFault extends Error {
  override readonly name = 'HubFault';
  /** The HTTP status; undefined where no answer came. */
  readonly status: number | undefined;
  readonly code: string | undefined;
  constructor(message: string, options: { status?: number; code?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.status = options.status;
    this.code = options.code;
  }
}

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

  /** @param closed fires when nothing is to be asked any more. */
  constructor(address: HubAddress, closed: AbortSignal) {
    this.#address = address;
    this.#closed = closed;
  }

  async request({ workflowId, config }: Target, messages: readonly Base[]): Promise<Envelope[][]> {
    const call = { workflow_id: workflowId, messages, ...(config ? { config } : {}) };
    return z.object({ replies }).parse(await this.#post(HUB_PATHS.request, call)).replies;
  }

  async receive(workflowId: string, args: ReceiveArgs, signal: AbortSignal): Promise<Received> {
    return received.parse(await this.#post(HUB_PATHS.receive, { workflow_id: workflowId, ...args }, signal));
  }

  async view(
    workflowId: string,
    query: { readonly [field: string]: Json } | undefined,
  ): Promise<{ [field: string]: Json } | undefined> {
    const call = { workflow_id: workflowId, ...(query ? { query } : {}) };
    return z.object({ view: publicState.nullable() }).parse(await this.#post(HUB_PATHS.view, call)).view ?? undefined;
  }

  async #post(path: string, call: object, signal?: AbortSignal): Promise<unknown> {
    const { url, token } = this.#address;
    const end = linked([this.#closed, signal], SILENCE_MS);
    try {
      const answer = await fetch(new URL(path, url), {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(call),
        signal: end.signal,
      });
      const body: unknown = await answer.json();
      if (answer.ok) return body;
      throw faultOf(answer.status, body);
    } catch (cause) {
      if (cause instanceof HubFault || cause instanceof SynodError) throw cause;
      throw new HubFault(`the hub at ${url} does not answer`, { cause });
    } finally {
      end.release();
    }
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
