import { Command, Option } from 'commander';
import { consoleLine } from '../bridge/console.ts';
import { Agent } from '../client/agent.ts';
import type { BoardQuery } from '../client/messages/board.ts';
import { checked } from '../client/messages/compose.ts';
import { SharedConnection } from '../client/connection/sharedConnection.ts';
import { roomTarget } from '../envelope/targets.ts';
import { DEFAULT_TASK_QUEUE } from '../envelope/address.ts';
import { EVERYONE } from '../envelope/calls.ts';
import { BOARD_KINDS, BOARD_STATUSES } from '../envelope/room.ts';
import { whole } from './values.ts';
import { withClient } from './withClient.ts';

/** Resolves when the process is asked to stop. Asked again, as a terminal's Ctrl-C may do, it still ends in order. */
export async function untilStopped(): Promise<void> {
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve());
  });
}

export function watchCommand(): Command {
  return new Command('watch')
    .description('print what happens in a room, as it happens')
    .argument('<room>')
    .option('--json', 'one JSON object a line')
    .option('--after <seq>', 'start after this entry of the log; 0 from the start, -1 from now on', whole(-1), 0)
    .action(async (room: string, options: { json?: boolean; after: number }) => {
      const { workflowId } = roomTarget(checked('room', room));
      await withClient(async (client) => {
        const reader = SharedConnection.of(client, DEFAULT_TASK_QUEUE).readerOf(workflowId);
        const format = options.json ? 'json' : 'text';
        // Reading from now on begins with a gap in which nothing is missing.
        let begun = options.after >= 0;
        const onGap = () => {
          if (begun) console.error('synod: older entries are no longer kept');
          begun = true;
        };
        const stop = reader.listen(
          { agent: EVERYONE, onGap, onEvent: (event) => console.log(consoleLine(event, format)) },
          options.after,
        );
        await untilStopped();
        stop();
      });
    });
}

export function boardCommand(): Command {
  return new Command('board')
    .description('print what is on the board of a room, the most urgent first')
    .argument('<room>')
    .addOption(new Option('--kind <kind>', 'only rows of this kind').choices(BOARD_KINDS))
    .addOption(new Option('--status <status>', 'only rows of this status').choices(BOARD_STATUSES))
    .option('--json', 'one JSON object a line')
    .action(async (room: string, { json, ...query }: { json?: boolean } & BoardQuery) => {
      const rows = await withClient(async (client) => await new Agent(client, 'operator:board').board(room, query));
      for (const row of rows) {
        console.log(
          json
            ? JSON.stringify(row)
            : [row.priority ?? '', row.kind, row.id, row.status, row.holder ?? '', row.since].join('\t'),
        );
      }
      if (rows.length === 0) console.error(`synod: nothing on the board of ${room}`);
    });
}
