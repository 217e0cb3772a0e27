import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { bridgeCommand } from './bridge.ts';
import { gatewayCommand } from './gateway.ts';
import { locksCommand } from './locks.ts';
import { boardCommand, watchCommand } from './room.ts';
import { number, port, whole } from './values.ts';

it('reads numbers, and nothing else', () => {
  expect([port('8787'), whole(-1)('-1'), number(0)('0.5'), number(1, 3, 'seconds')('3')]).toEqual([8787, -1, 0.5, 3]);
  expect(() => port('0')).toThrow('must be a port, 1 to 65535');
  expect(() => whole(0)('1.5')).toThrow('must be a whole number >= 0');
  expect(() => whole(0)('')).toThrow('must be a whole number >= 0');
  expect(() => number(0)('soon')).toThrow('must be a number >= 0');
  expect(() => number(1, 3, 'a number of seconds')('4')).toThrow('must be a number of seconds from 1 to 3');
});

it.each<[Command, string, string]>([
  [boardCommand(), 'lab --status any', 'Allowed choices are open, held,'],
  [boardCommand(), 'lab --kind any', 'Allowed choices are task, coordinator, proposal, barrier.'],
  [watchCommand(), 'lab --after soon', 'must be a whole number >= -1'],
  [locksCommand(), 'configure lab --shards many', 'must be a whole number >= 1'],
  [locksCommand(), 'configure lab --max-waits 0', 'must be a whole number >= 1'],
  [locksCommand(), 'configure lab --rollback-seconds soon', 'must be a number >= 0'],
  [locksCommand(), 'configure lab --permits model', 'must be a resource'],
  [bridgeCommand(), '--room lab --lease 0', 'must be a number of seconds from 1 to'],
  [gatewayCommand(), 'token add --agent a --room r --rate -1', 'must be a number from 0 to 100000'],
  [gatewayCommand(), 'token add --agent a --room r --rate 100001', 'must be a number from 0 to 100000'],
  [bridgeCommand(), '--room lab --console --lost-ledger forget', 'Allowed choices are mark, skip.'],
])('refuses an option that is not what it must be: %#', async (command, args, reason) => {
  quiet(command);
  await expect(command.parseAsync(args.split(' '), { from: 'user' })).rejects.toThrow(reason);
});

/** It throws instead of ending the process, and prints nothing. */
function quiet(command: Command): void {
  command.exitOverride().configureOutput({ writeErr: () => undefined });
  command.commands.forEach(quiet);
}
