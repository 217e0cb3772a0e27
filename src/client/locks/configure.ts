import { z } from 'zod';
import { configSet } from '../../envelope/calls.ts';
import { boundedLockConfig, lockConfig } from '../../envelope/lock.ts';
import { SynodError } from '../../envelope/refusal.ts';
import { lockManagerId } from '../../envelope/shards.ts';
import { accepted } from '../messages/answers.ts';
import { compose } from '../messages/compose.ts';
import type { SharedConnection } from '../connection/sharedConnection.ts';
import type { Keys } from '../../envelope/options.ts';
import { locksTarget } from '../../envelope/targets.ts';
import { forgetLocks } from './shards.ts';

/** How the locks of a room are configured; what is left out stays as it is. */
export interface LockConfig {
  /** How many permits each resource has, in the place of all that was set before: one that is not named has none. */
  readonly permits?: { readonly [resource: string]: number };
  /** Seconds that the next grant waits for `onLockExpired` at most; default 10. */
  readonly rollbackSeconds?: number;
  /** Over how many workflows the names are spread by their hash, 1 to 1,000; default 1. Only the first start of a room's locks sets it. */
  readonly shards?: number;
  /**
   * How many processes wait for their grants by an open call, 1 to 1,000; default 3. The others ask every few seconds. More
   * than some eight need a server that is configured for more than 10 updates in flight.
   */
  readonly maxWaits?: number;
}

/** The keys of {@link LockConfig}. */
export const LOCK_CONFIG_KEYS: Keys<LockConfig> = {
  permits: true,
  rollbackSeconds: true,
  shards: true,
  maxWaits: true,
};

/** The configuration as the workflows show it. */
export type ConfiguredLocks = z.infer<typeof lockConfig>;

const shown = z.object({ config: z.looseObject(lockConfig.shape) });

/** Behind `room.configureLocks`. */
export async function configureLocks(
  connection: SharedConnection,
  operator: string,
  room: string,
  { permits, rollbackSeconds, shards, maxWaits }: LockConfig,
): Promise<ConfiguredLocks> {
  const config = parsed({ permits, rollback_seconds: rollbackSeconds, shards, max_waits: maxWaits });
  const { shards: wanted, ...changes } = config;
  const message = () => compose(configSet, operator, { type: 'config.set', config: changes });
  const current = await configOf(connection, room);
  if (current) sameShards(room, wanted, current);
  accepted(await connection.send(locksTarget(room, undefined, config), message()));
  const configured = (await configOf(connection, room)) ?? config;
  // Another may have started them meanwhile.
  sameShards(room, wanted, configured);
  const count = configured.shards ?? 1;
  if (count > 1) {
    const all = Array.from({ length: count }, async (_, shard) =>
      accepted(await connection.send(locksTarget(room, shard, configured), message())),
    );
    await Promise.all(all);
  }
  forgetLocks(connection, room);
  return configured;
}

function parsed(config: { [key: string]: unknown }): ConfiguredLocks {
  const given = Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
  const result = boundedLockConfig.safeParse(given);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new SynodError(
    'invalid_envelope',
    `${['config', ...(issue?.path ?? [])].join('.')} ${issue?.message ?? 'is malformed'}`,
  );
}

async function configOf(connection: SharedConnection, room: string): Promise<ConfiguredLocks | undefined> {
  const view = await connection.view(lockManagerId(room));
  return view && shown.parse(view).config;
}

function sameShards(room: string, wanted: number | undefined, { shards = 1 }: ConfiguredLocks): void {
  if (wanted === undefined || wanted === shards) return;
  throw new SynodError(
    'invalid_envelope',
    `config.shards is ${shards} since ${lockManagerId(room)} was started, and cannot become ${wanted}: configure a room's locks ` +
      'before the first of them is asked for, or use another room',
  );
}
