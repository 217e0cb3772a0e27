import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RECONNECT } from './connect.ts';
import { accepts } from './ports.ts';
import { startDevServer } from './server.ts';
import type { DevServer, DevServerOptions } from './server.ts';

async function start(options: DevServerOptions = {}): Promise<DevServer> {
  const server = await startDevServer({ log: () => undefined, ...options });
  onTestFinished(() => server.stop());
  return server;
}

async function clientOf(server: DevServer): Promise<Client> {
  const connection = await Connection.connect({ address: server.address, channelArgs: RECONNECT });
  onTestFinished(() => connection.close());
  return new Client({ connection, namespace: server.namespace });
}

const portOf = (server: DevServer): number => Number(server.address.split(':')[1]);

/** Resolves when the process is gone; the event is not ours to await, since it is no child of this process. */
async function gone(pid: number): Promise<void> {
  await expect
    .poll(() => {
      try {
        process.kill(pid, 0);
        return 'running';
      } catch {
        return 'gone';
      }
    })
    .toBe('gone');
}

describe('startDevServer', () => {
  it('serves its namespace and search attributes, and frees its port when stopped', async () => {
    const server = await start({ namespace: 'team', searchAttributes: { SynodTest: 'Keyword' } });
    const client = await clientOf(server);
    const described = await client.workflowService.describeNamespace({ namespace: 'team' });
    expect(described.namespaceInfo?.name).toBe('team');
    const { customAttributes } = await client.connection.operatorService.listSearchAttributes({ namespace: 'team' });
    expect(Object.keys(customAttributes ?? {})).toContain('SynodTest');
    expect(server.uiUrl).toBeUndefined();
    await server.stop();
    expect(await server.exited).toEqual({ code: 0, signal: null });
    expect(await accepts('127.0.0.1', portOf(server))).toBe(false);
  });

  it('keeps its workflows over a crash when it has a database file', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'synod-server-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const dbFilename = path.join(folder, 'temporal.db');
    const first = await start({ dbFilename });
    await (await clientOf(first)).workflow.start('never', { workflowId: 'kept', taskQueue: 'nobody' });
    await first.kill();
    expect(await first.exited).toEqual({ code: null, signal: 'SIGKILL' });
    const second = await start({ dbFilename, port: portOf(first) });
    expect(second.address).toBe(first.address);
    const description = await (await clientOf(second)).workflow.getHandle('kept').describe();
    expect(description.status.name).toBe('RUNNING');
  });

  it('serves the Web UI when asked', async () => {
    const server = await start({ ui: true });
    const response = await fetch(server.uiUrl ?? '');
    expect(response.status).toBe(200);
  });

  it('says that a port which was asked for is in use, also when a Temporal server uses it', async () => {
    const port = portOf(await start());
    await expect(start({ port })).rejects.toThrow(`port ${port} is in use`);
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await new Promise((resolve) => other.once('listening', resolve));
    const address = other.address();
    const uiPort = typeof address === 'object' ? (address?.port ?? 0) : 0;
    await expect(start({ uiPort })).rejects.toThrow(`port ${uiPort} is in use`);
  });

  it('does not take another server for its own, however long its own needs to find the port taken', async () => {
    const port = portOf(await start());
    const folder = await mkdtemp(path.join(tmpdir(), 'synod-slow-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const slow = [
      '#!/bin/sh',
      'if [ "$1" = --version ]; then echo "temporal version 1.0.0 (fake)"; exit; fi',
      '/bin/sleep 3',
      `echo "listen tcp 127.0.0.1:${port}: bind: address already in use" >&2`,
      'exit 1',
    ];
    await writeFile(path.join(folder, 'temporal'), slow.join('\n'), { mode: 0o755 });
    await expect(start({ port, find: { env: { PATH: folder } } })).rejects.toThrow(`port ${port} is in use`);
  });

  it('shows the end of the output of a server that does not start', async () => {
    await expect(start({ extraArgs: ['--no-such-flag'] })).rejects.toThrow(/ended at once[^]*no-such-flag/);
  });

  it('does not leave the server behind when its parent is killed', async () => {
    const script = fileURLToPath(new URL('./server.fixture.ts', import.meta.url));
    const parent = spawn(process.execPath, ['--import', 'tsx', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void parent.kill('SIGKILL'));
    const said = await new Promise<string>((resolve) =>
      parent.stdout.once('data', (data: Buffer) => resolve(String(data))),
    );
    const pid = Number(said);
    expect(pid).toBeGreaterThan(0);
    expect(() => process.kill(pid, 0)).not.toThrow();
    parent.kill('SIGKILL');
    await gone(pid);
  });
});
