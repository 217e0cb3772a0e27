import { Client, Connection } from '@temporalio/client';
import { resolveServer } from '../dev/connect.ts';
import { Hub } from './hub.ts';

const DEFAULT_ADDRESS = '127.0.0.1:7233';

/** Options of {@link connect}. What is not given comes from the environment (`TEMPORAL_*`), then from the defaults. */
export interface ConnectOptions {
  /** `host:port`; default 127.0.0.1:7233. */
  readonly address?: string | undefined;
  /** Default `default`. */
  readonly namespace?: string | undefined;
}

/**
 * A Temporal client for agents. It differs from a plain one in a single thing: it repeats no call by itself. Synod repeats
 * its own, with short pauses, where the SDK would pause for a second whenever all update slots of a workflow are taken.
 * @throws Error when no server answers at the address.
 */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  const named = options.address === undefined ? resolveServer() : undefined;
  const address = options.address ?? named?.address ?? DEFAULT_ADDRESS;
  const connection = await Connection.connect({
    ...named?.connectionOptions,
    address,
    interceptors: [],
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

/**
 * Ends what the agents of a client still try to reach, and closes its connection. Without it a process whose server is gone
 * goes on trying, and does not end. What was waiting is rejected.
 */
export async function disconnect(client: Client): Promise<void> {
  await Hub.disconnect(client);
}
