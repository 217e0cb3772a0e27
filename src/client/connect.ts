import { Client, Connection } from '@temporalio/client';
import { RECONNECT, resolveServer } from '../dev/connect.ts';
import { SharedConnection } from './connection/sharedConnection.ts';
import type { HubAddress } from './transport/hubTransport.ts';
import { known, type Keys } from '../envelope/options.ts';

const DEFAULT_ADDRESS = '127.0.0.1:7233';

/** Options of {@link connect}. What is not given comes from the environment (`TEMPORAL_*`, `SYNOD_*`), then from the defaults. */
export interface ConnectOptions {
  /** `host:port`; default 127.0.0.1:7233. */
  readonly address?: string | undefined;
  /** Default `default`. */
  readonly namespace?: string | undefined;
  /** Work through the hub at this URL (`synod gateway`) instead of going to Temporal; default `SYNOD_HUB`, unless an address is given. */
  readonly hub?: string | undefined;
  /** The hub's token; default `SYNOD_TOKEN`. */
  readonly token?: string | undefined;
}

const KEYS: Keys<ConnectOptions> = { address: true, namespace: true, hub: true, token: true };

/**
 * A Temporal client for agents. It differs from a plain one in two things. It repeats no call by itself: Synod repeats
 * its own, with short pauses, where the SDK would pause for a second whenever all update slots of a workflow are taken. And it
 * connects again within two seconds after an outage ({@link RECONNECT}).
 *
 * With a hub, its agents reach the workflows through that alone: Temporal is connected to only if the client itself is used.
 * @throws Error when no server answers at the address, or the hub is not one.
 */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  known('options', options, KEYS);
  const hub = hubOf(options);
  const named = options.address === undefined ? resolveServer() : undefined;
  const address = options.address ?? named?.address ?? DEFAULT_ADDRESS;
  const how = { ...named?.connectionOptions, address, interceptors: [], channelArgs: RECONNECT };
  const connection = hub
    ? Connection.lazy(how)
    : await Connection.connect(how).catch((error: unknown) => {
        throw new Error(`no Temporal server answers at ${address}: start one (synod dev), or set TEMPORAL_ADDRESS`, {
          cause: error,
        });
      });
  const client = new Client({
    connection,
    namespace: options.namespace ?? named?.namespace ?? process.env['TEMPORAL_NAMESPACE'] ?? 'default',
  });
  if (hub) SharedConnection.through(client, hub);
  return client;
}

function hubOf(options: ConnectOptions): HubAddress | undefined {
  const { hub = options.address === undefined ? process.env['SYNOD_HUB'] : undefined } = options;
  const { token = process.env['SYNOD_TOKEN'] } = options;
  if (hub === undefined || hub === '') return undefined;
  if (!URL.canParse(hub) || !/^https?:$/.test(new URL(hub).protocol))
    throw new Error(`the hub must be a URL such as http://127.0.0.1:8787, not ${hub}`);
  if (token === undefined || token === '')
    throw new Error('a hub asks for a token: set SYNOD_TOKEN to one of synod gateway token add --hub');
  return { url: hub, token };
}

/**
 * Ends what the agents of a client still try to reach, and closes its connection. Without it a process whose server is gone
 * goes on trying, and does not end. What was waiting is rejected.
 */
export async function disconnect(client: Client): Promise<void> {
  await SharedConnection.disconnect(client);
}
