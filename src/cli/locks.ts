import { Command } from 'commander';
import { z } from 'zod';
import { connect, disconnect } from '../client/connect.ts';
import { accepted } from '../client/channel.ts';
import { checked, compose } from '../client/compose.ts';
import { Hub } from '../client/hub.ts';
import { locksTarget } from '../client/targets.ts';
import { DEFAULT_TASK_QUEUE } from '../envelope/address.ts';
import { OPERATOR_PREFIX } from '../envelope/envelope.ts';
import { lockMessages } from '../envelope/lock.ts';
import { lockManagerId, shardOfLock } from '../envelope/shards.ts';

const lock = z.object({ lock_id: z.string(), lock_type: z.string(), since: z.string() });
const holder = lock.extend({
  holder: z.string(),
  token: z.number(),
  lost_by: z.string().optional(),
  lease_expires_at: z.string().optional(),
  rollback_ends_at: z.string().optional(),
});
const waiter = lock.extend({ agent: z.string(), priority: z.number(), wait_ends_at: z.string() });
const resource = z.object({
  resource: z.string(),
  holders: z.array(holder),
  holders_count: z.number(),
  queue: z.array(waiter),
  queue_count: z.number(),
});
type Resource = z.infer<typeof resource>;
const shown = z.object({
  resources: z.array(resource),
  resources_count: z.number(),
  config: z.object({ shards: z.number().default(1) }),
  now: z.string(),
});

export function locksCommand(): Command {
  const command = new Command('locks').description('look at the locks of a room, and free one whose holder is lost');
  command
    .command('ls')
    .description('what is held and waited for, the most waited for first')
    .argument('<room>')
    .option('--json', 'one JSON object a resource and line')
    .action(async (room: string, { json }: { json?: boolean }) => {
      const { resources, left } = await read(room);
      for (const each of resources) console.log(json ? JSON.stringify(each) : lineOf(each));
      if (resources.length === 0) console.error(`synod: nothing is locked in ${room}`);
      if (left > 0) console.error(`synod: ${left} more resources are locked: only those most waited for are shown`);
    });
  command
    .command('show')
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
  command
    .command('release')
    .description(
      'take a lock from its holder, as if its lease had ended: its rollback runs, and the next waiter gets it',
    )
    .argument('<room>')
    .argument('<lock_id>')
    .requiredOption('--reason <text>', 'what the room is told')
    .option('--as <operator>', 'who does it', `${OPERATOR_PREFIX}cli`)
    .action(async (room: string, lockId: string, { reason, as }: { reason: string; as: string }) => {
      const client = await connect();
      const message = compose(lockMessages['lock.force_release'], checked('agent', as), {
        type: 'lock.force_release',
        lock_id: lockId,
        reason,
      });
      const target = locksTarget(checked('room', room), shardOfLock(lockId));
      accepted(await Hub.of(client, DEFAULT_TASK_QUEUE).send(target, message));
      console.log(`${lockId} is released`);
      await disconnect(client);
    });
  return command;
}

/** The locks of a room, over all its shards. */
async function read(room: string): Promise<{ resources: Resource[]; left: number; now: string }> {
  const client = await connect();
  const hub = Hub.of(client, DEFAULT_TASK_QUEUE);
  const view = async (shard?: number) => {
    const found = await hub.view(lockManagerId(checked('room', room), shard));
    return found && shown.parse(found);
  };
  const base = await view();
  const count = base?.config.shards ?? 1;
  const shards = count === 1 ? [base] : await Promise.all(Array.from({ length: count }, async (_, i) => await view(i)));
  await disconnect(client);
  const all = shards.flatMap((each) => (each ? [each] : []));
  const resources = all.flatMap((each) => each.resources).sort((a, b) => b.queue_count - a.queue_count);
  const total = all.reduce((sum, each) => sum + each.resources_count, 0);
  return { resources, left: total - resources.length, now: base?.now ?? new Date().toISOString() };
}

function lineOf({ resource: name, holders, holders_count: held, queue_count: waiting }: Resource): string {
  const [first] = holders;
  const by = first ? `${first.lock_type} by ${first.holder} since ${first.since}` : 'nobody';
  const more = held > 1 ? ` and ${held - 1} more` : '';
  return [name, `${by}${more}`, `${waiting} waiting`].join('\t');
}

function pageOf(found: Resource, now: string): string[] {
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
