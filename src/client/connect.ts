import {
  Client,
  Connection,
  defaultGrpcRetryOptions,
  isRetryableError,
  makeGrpcRetryInterceptor,
} from '@temporalio/client';
import { resolveServer } from '../dev/connect.ts';

const DEFAULT_ADDRESS = '127.0.0.1:7233';
/** gRPC's RESOURCE_EXHAUSTED. */
const RESOURCE_EXHAUSTED = 8;
const MAX_RPC_ATTEMPTS = 3;

/** Options of {@link connect}. What is not given comes from the environment (`TEMPORAL_*`), then from the defaults. */
export interface ConnectOptions {
  /** `host:port`; default 127.0.0.1:7233. */
  readonly address?: string | undefined;
  /** Default `default`. */
  readonly namespace?: string | undefined;
}

/**
 * A Temporal client for agents. It differs from a plain one in a single thing: when all update slots of a workflow are
 * taken, the SDK would pause for a second before it tries again; here Synod's own short pauses take over.
 * @throws Error when no server answers at the address.
 */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  const named = options.address === undefined ? resolveServer() : undefined;
  const address = options.address ?? named?.address ?? DEFAULT_ADDRESS;
  const retry = defaultGrpcRetryOptions();
  const connection = await Connection.connect({
    ...named?.connectionOptions,
    address,
    interceptors: [
      makeGrpcRetryInterceptor({
        ...retry,
        retryableDecider: (attempt, status) =>
          attempt < MAX_RPC_ATTEMPTS && status.code !== RESOURCE_EXHAUSTED && isRetryableError(status),
      }),
    ],
  }).catch((error: unknown) => {
    throw new Error(`no Temporal server answers at ${address}: start one (synod dev), or set TEMPORAL_ADDRESS`, {
      cause: error,
    });
  });
  return new Client({
    connection,
    namespace: options.namespace ?? named?.namespace ?? process.env['TEMPORAL_NAMESPACE'] ?? 'default',
  });
}
