#!/usr/bin/env node
import { Command } from 'commander';
import manifest from '../../package.json' with { type: 'json' };
import { boardCommand, watchCommand } from './room.ts';
import { bridgeCommand } from './bridge.ts';
import { devCommand } from './dev.ts';
import { gatewayCommand } from './gateway.ts';
import { locksCommand } from './locks.ts';
import { stateCommand } from './state.ts';
import { workerCommand } from './worker.ts';

const program = new Command('synod')
  .description('Durable coordination for groups of autonomous agents, on Temporal.')
  .version(manifest.version)
  .addHelpText(
    'after',
    '\nThe server is named by TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE (and the other TEMPORAL_* variables of the Temporal SDK);\nwithout them it is 127.0.0.1:7233. `synod dev` needs none: it brings its own.',
  );
program
  .addCommand(devCommand())
  .addCommand(workerCommand())
  .addCommand(gatewayCommand())
  .addCommand(bridgeCommand())
  .addCommand(watchCommand())
  .addCommand(boardCommand())
  .addCommand(locksCommand())
  .addCommand(stateCommand());

hintAtHelp(program);

try {
  await program.parseAsync();
} catch (error) {
  console.error(`synod: ${error instanceof Error ? error.message : String(error)}`);
  if (error instanceof Error && error.cause !== undefined && process.env['SYNOD_DEBUG']) console.error(error.cause);
  process.exitCode = 1;
}

/** What is wrong is named anyway; where to read what would be right is not. */
function hintAtHelp(command: Command): void {
  command.showHelpAfterError('(add --help to see what it takes)');
  command.commands.forEach(hintAtHelp);
}
