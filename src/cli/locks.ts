import { Command, InvalidArgumentError } from 'commander';
import { Agent } from '../client/agent.ts';
import { checked } from '../client/messages/compose.ts';
import { SharedConnection } from '../client/connection/sharedConnection.ts';
import type { LockConfig } from '../client/locks/configure.ts';
import {
  forceRelease,
  lineOfLocked,
  lockStatus,
  type LockedResource,
  type LockStatus,
} from '../client/locks/status.ts';
import { DEFAULT_TASK_QUEUE } from '../envelope/address.ts';
import { OPERATOR_PREFIX } from '../envelope/envelope.ts';
import { number, whole } from './values.ts';
import { withClient } from './withClient.ts';

export function locksCommand(): Command {
  return new Command('locks')
    .description('show the locks of a room, and take one from a holder that is lost')
    .addCommand(lsCommand())
    .addCommand(showCommand())
    .addCommand(releaseCommand())
    .addCommand(configureCommand());
}

function lsCommand(): Command {
  return new Command('ls')
    .description('what is held and waited for, the most waited for first')
    .argument('<room>')
    .option('--json', 'one JSON object a resource and line')
    .action(async (room: string, { json }: { json?: boolean }) => {
      const { resources, left } = await read(room);
      for (const each of resources) console.log(json ? JSON.stringify(each) : lineOfLocked(each));
      if (resources.length === 0) console.error(`synod: nothing is locked in ${room}`);
      if (left > 0) console.error(`synod: ${left} more resources are locked: only those most waited for are shown`);
    });
}

function showCommand(): Command {
  return new Command('show')
    .description('who holds a resource and who waits for it, with their locks and ages')
    .argument('<room>')
    .argument('<resource>')
    .option('--json', 'as one JSON object')
    .action(async (room: string, name: string, { json }: { json?: boolean }) => {
      const { resources, now } = await read(room);
      const found = resources.find((each) => each.resource === name);
      if (!found) throw new Error(`${name} is not locked in ${room}; synod locks ls ${room} shows what is`);
      if (json) return console.log(JSON.stringify(found));
      for (const line of pageOf(found, now)) console.log(line);
    });
}

function releaseCommand(): Command {
  return new Command('release')
    .description(
      'take a lock from its holder, as if its lease had ended: its rollback runs, and the next waiter gets it',
    )
    .argument('<room>')
    .argument('<lock_id>')
    .requiredOption('--reason <text>', 'why; it is logged for the room')
    .option('--as <operator>', 'who does it', `${OPERATOR_PREFIX}cli`)
    .action(async (room: string, lockId: string, { reason, as }: { reason: string; as: string }) => {
      await withClient(async (client) => {
        const connection = SharedConnection.of(client, DEFAULT_TASK_QUEUE);
        await forceRelease(connection, checked('room', room), checked('agent', as), { lock_id: lockId, reason });
      });
      console.log(`${lockId} is released`);
    });
}

function configureCommand(): Command {
  return new Command('configure')
    .description("configure a room's locks, and start them where they do not run; prints the configuration as JSON")
    .argument('<room>')
    .option('--permits <resource=n>', 'how many permits a resource has; again for each: all others lose theirs', permit)
    .option('--rollback-seconds <s>', 'how long the next grant waits for a rollback', number(0))
    .option(
      '--shards <n>',
      'over how many workflows the names are spread; only before the first lock of the room',
      whole(1),
    )
    .option('--max-waits <n>', 'how many processes receive their grants at once', whole(1))
    .option('--as <operator>', 'who does it', `${OPERATOR_PREFIX}cli`)
    .action(async (room: string, { as, ...config }: LockConfig & { as: string }) => {
      const configured = await withClient(
        async (client) => await new Agent(client, as).room(room).configureLocks(config),
      );
      console.log(JSON.stringify(configured));
    });
}

/** One more `resource=n`: a name may hold an equals sign, a number cannot. */
function permit(given: string, before: LockConfig['permits'] = {}): LockConfig['permits'] {
  const at = given.lastIndexOf('=');
  const count = given.slice(at + 1);
  if (at < 1 || !/^\d+$/.test(count))
    throw new InvalidArgumentError('must be a resource, "=" and a whole number: model=4');
  return { ...before, [given.slice(0, at)]: Number(count) };
}

async function read(room: string): Promise<LockStatus> {
  return await withClient(
    async (client) => await lockStatus(SharedConnection.of(client, DEFAULT_TASK_QUEUE), checked('room', room)),
  );
}

function pageOf(found: LockedResource, now: string): string[] {
  const { holders, holders_count: held, queue, queue_count: waiting } = found;
  return [
    `${found.resource}: ${held} held, ${waiting} waiting`,
    ...holders.map(
      (each) =>
        `  ${each.lock_id}  ${each.lock_type} by ${each.holder} for ${age(each.since, now)}, token ${each.token}, ` +
        (each.lost_by === undefined
          ? `until ${each.lease_expires_at ?? '?'} unless renewed`
          : `lost by ${each.lost_by}, until ${each.rollback_ends_at ?? '?'}`),
    ),
    ...(held > holders.length ? [`  and ${held - holders.length} more holders`] : []),
    ...queue.map(
      (each, i) =>
        `  ${i + 1}. ${each.lock_id}  ${each.lock_type} for ${each.agent}, waits ${age(each.since, now)}, priority ${each.priority}, gives up at ${each.wait_ends_at}`,
    ),
    ...(waiting > queue.length ? [`  and ${waiting - queue.length} more waiters`] : []),
  ];
}

/** How long ago, in seconds, by the server's clock. */
function age(since: string, now: string): string {
  return `${Math.max(0, Math.round((Date.parse(now) - Date.parse(since)) / 1000))} s`;
}
