import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { ClientConnectConfig } from '@temporalio/envconfig';

/**
 * Channel arguments of every connection to Temporal here: `Connection.connect({ address, channelArgs: RECONNECT })`. gRPC's own
 * pauses between two attempts grow to two minutes, so that after an outage of 45 s a caller would wait for 29 s more. With these a
 * connection is tried again within 0.6 s (0.5 s and gRPC's jitter of 20 %), and a host name is looked up again within a second.
 */
export const RECONNECT = {
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 500,
  'grpc.dns_min_time_between_resolutions_ms': 1_000,
} as const;

/** A server that the environment names. */
export interface ResolvedServer {
  /** `host:port` for gRPC. */
  address: string;
  /** Default: `default`. */
  namespace: string;
  /** For `Connection.connect` and `NativeConnection.connect`: address, TLS, API key, headers. */
  connectionOptions: ClientConnectConfig['connectionOptions'];
}

/**
 * The server that the environment asks for by `TEMPORAL_ADDRESS` or by the other `TEMPORAL_*` variables of
 * `@temporalio/envconfig` (`TEMPORAL_PROFILE` and `TEMPORAL_CONFIG_FILE` among them).
 *
 * A configuration file alone does not count: a demo must not run on somebody's production cluster because a file in
 * the home folder names it.
 * @param env default: this process's environment
 * @returns undefined when no server is asked for; the caller then starts its own
 * @throws Error when the variables cannot be used, such as a profile or file that does not exist
 */
export function resolveServer(env: NodeJS.ProcessEnv = process.env): ResolvedServer | undefined {
  const overrideEnvVars: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    // An empty variable means "not set", as in `TEMPORAL_ADDRESS= npm run demo`.
    if (value !== undefined && value !== '') overrideEnvVars[name] = value;
  }
  if (!Object.keys(overrideEnvVars).some((name) => SERVER_VARIABLES.test(name))) return undefined;
  const { connectionOptions, namespace = 'default' } = loadClientConnectConfig({ overrideEnvVars });
  const { address } = connectionOptions;
  if (address === undefined) {
    throw new Error(
      'The environment sets TEMPORAL_* variables but names no server: set TEMPORAL_ADDRESS to host:port, ' +
        'or unset them to run on an embedded server.',
    );
  }
  return { address, namespace, connectionOptions };
}

// A namespace alone asks for no server: it is as good for an embedded one.
const SERVER_VARIABLES = /^TEMPORAL_(ADDRESS|PROFILE|CONFIG_FILE|API_KEY|TLS(_.*)?)$/;
