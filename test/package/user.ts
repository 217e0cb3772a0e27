/** The files of a user's project, as the README has users write them. */

/** A workflow of the user's own. */
const OWN_WORKFLOW = `
import { announceTask, withLock, type TaskOutcome } from 'synod/workflow';

export async function greet(name: string): Promise<string> {
  return 'Hello, ' + name;
}

export async function delegate(room: string): Promise<TaskOutcome['type']> {
  return await withLock(['report'], { room, type: 'exclusive' }, async ({ tokens }) => {
    const task = await announceTask(room, { taskId: 'delegated', title: 'Count', input: tokens.report, lingerSeconds: 1 });
    const outcome = await task.outcome();
    return outcome.type;
  });
}
`;

/** Runs the user's workflow and a task of Synod on a real server, with the worker that \`how\` names. */
const MAIN = `
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { SynodPlugin, createWorker } from 'synod';
import { Agent, checkToken, connect } from 'synod/client';
import { startDevServer } from 'synod/testing';
import { here } from './here.js';

async function workerFor(how: string, address: string): Promise<Worker> {
  const plugin = new SynodPlugin();
  const own = join(here, 'own.js');
  const plugins = [plugin];
  switch (how) {
    case 'ready':
      return await createWorker({ connection: await NativeConnection.connect({ address }) });
    case 're-exported':
      return await createWorker({ connection: await NativeConnection.connect({ address }), workflowsPath: join(here, 'both.js') });
    case 'merged':
      return await Worker.create({ connection: await NativeConnection.connect({ address }), taskQueue: 'synod', workflowsPath: own, plugins });
    case 'twice':
      return await Worker.create({
        connection: await NativeConnection.connect({ address, plugins }), taskQueue: 'synod', workflowsPath: own, plugins,
      });
    case 'on the connection':
      return await Worker.create({ connection: await NativeConnection.connect({ address, plugins }), taskQueue: 'synod', workflowsPath: own });
    case 'bundled':
      return await Worker.create({
        connection: await NativeConnection.connect({ address }), taskQueue: 'synod', plugins,
        workflowBundle: await bundleWorkflowCode({ workflowsPath: own, plugins, logger: new DefaultLogger('ERROR') }),
      });
    default:
      throw new Error('no such way: ' + how);
  }
}

async function main(): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const server = await startDevServer({ ui: false });
  const connection = await Connection.connect({ address: server.address });
  const client = new Client({ connection });
  const agents = await connect({ address: server.address });
  const results: Record<string, unknown> = {};
  for (const how of process.argv.slice(2)) {
    const worker = await workerFor(how, server.address);
    results[how] = await worker.runUntil(async () => {
      const greeting = how === 'ready' ? null : await client.workflow.execute('greet', { workflowId: 'greet ' + how, taskQueue: 'synod', args: ['you'] });
      const stop = new AbortController();
      const room = how.replaceAll(' ', '-');
      const agent = new Agent(agents, 'worker-1');
      const working = agent.work(room, async ({ token }) => checkToken(undefined, token), { signal: stop.signal });
      const task = await agent.announce(room, { taskId: 't-1', title: 'Count', lingerSeconds: 1 });
      const outcome = await task.outcome();
      const delegated = how === 'ready' ? null : await client.workflow.execute('delegate', { workflowId: 'delegate ' + how, taskQueue: 'synod', args: [room] });
      stop.abort();
      await working;
      return { greeting, delegated, outcome: outcome.type, result: outcome['result'] };
    });
  }
  await agents.connection.close();
  await connection.close();
  await server.stop();
  console.log(JSON.stringify(results));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
`;

/** The files of a project of either kind; they differ only in how a module learns where it is. */
export function userFiles(kind: 'module' | 'commonjs'): Record<string, string> {
  return {
    'own.ts': OWN_WORKFLOW,
    'both.ts': `export * from 'synod/workflows';\n${OWN_WORKFLOW}`,
    'main.ts': MAIN,
    'here.ts': `export const here: string = ${kind === 'module' ? 'import.meta.dirname' : '__dirname'};\n`,
  };
}
