import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Agent, connect, disconnect } from '../../src/client/index.ts';
import { startChild, type OwnedChild } from '../../src/dev/child.ts';
import { freePorts } from '../../src/dev/ports.ts';
import { startStack, type Stack } from '../support/stack.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGE = fileURLToPath(new URL('../../docs/gateway.md', import.meta.url));
const run = promisify(execFile);
const SPLIT = '--8<--';

let stack: Stack;
let folder: string;
let port: number;
let blocks: string[];
let env: NodeJS.ProcessEnv;
let started: OwnedChild | undefined;

beforeAll(async () => {
  stack = await startStack();
  folder = await mkdtemp(join(tmpdir(), 'synod-page-'));
  port = (await freePorts(1, '127.0.0.1'))[0] ?? 0;
  const page = await readFile(PAGE, 'utf8');
  blocks = [...page.matchAll(/```sh\n(.*?)```/gs)].map(([, text]) => (text ?? '').trim());
  env = { ...process.env, TEMPORAL_ADDRESS: stack.server.address, SYNOD_TOKENS: join(folder, 'tokens.json') };
});
afterAll(async () => {
  await started?.stop();
  await stack.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Runs lines of the page in one shell; the command is the one of this checkout, the port a free one. */
async function shell(lines: readonly string[]): Promise<string[]> {
  const script = lines
    .join(`\necho '${SPLIT}'\n`)
    .replaceAll('npx synod', `"${process.execPath}" --import tsx "${MAIN}"`)
    .replaceAll('8787', String(port));
  const { stdout } = await run('sh', ['-c', script], { env, cwd: ROOT });
  return stdout.split(`${SPLIT}\n`);
}

async function startGatewayCommand(): Promise<OwnedChild> {
  const settings = ['TEMPORAL_ADDRESS', 'SYNOD_TOKENS'].map((name) => `${name}=${env[name]}`);
  const command = [...settings, process.execPath, '--import', 'tsx', MAIN, 'gateway', '--port', String(port)];
  const child = await startChild('env', command);
  started = child;
  const failed = child.exited.then(() => Promise.reject(new Error(child.tail())));
  failed.catch(() => undefined);
  await Promise.race([child.said(/^ready http:\/\/127\.0\.0\.1:\d+$/), failed]);
  return child;
}

describe('docs/gateway.md', () => {
  it('does what it says, with curl alone', async () => {
    const [
      tokens = '',
      command,
      announce = '',
      claim = '',
      complete = '',
      forward = '',
      waiting = '',
      stream = '',
      state = '',
      hub = '',
    ] = blocks;
    expect(command).toBe('npx synod gateway');
    const [issued = ''] = await shell([`${tokens}\necho "$PRODUCER $WORKER"`]);
    const [producer = '', worker = ''] = issued.trim().split(' ');
    expect(producer).toMatch(/^synod_[0-9a-f]{12}_[\w-]{43}$/);
    // Neither is in the file, and nobody else may read that.
    const file = await readFile(join(folder, 'tokens.json'), 'utf8');
    expect([producer, worker].some((token) => file.includes(token.slice(19)))).toBe(false);
    expect((await stat(join(folder, 'tokens.json'))).mode & 0o777).toBe(0o600);

    const gateway = await startGatewayCommand();
    env = { ...env, PRODUCER: producer, WORKER: worker };
    // The room receives the task a little later, on a slow machine much later: who waits first finds it.
    const patient = stream.replace('--max-time 2', '--max-time 6');
    const said = await shell([announce, claim, claim, complete, waiting, forward, `${patient} || test $? = 28`, state]);
    const [announced, claimed, again, completed, waited, read, streamed = '', seen] = said;
    expect(JSON.parse(announced ?? '')).toMatchObject({ replies: [{ type: 'task.accepted', to: 'producer' }] });
    const ack = JSON.parse(claimed ?? '') as { seq: number; replies: unknown[] };
    expect(ack).toMatchObject({
      replies: [{ type: 'task.ack', to: 'summarizer-2', attempt: 1, lease_seconds: 300 }, { type: 'task.closed' }],
    });
    expect(JSON.parse(again ?? '')).toMatchObject({ seq: ack.seq });
    expect(JSON.parse(completed ?? '')).toMatchObject({
      replies: [{ type: 'task.completed', result: { words: 120 } }],
    });
    for (const page of [read, waited]) {
      expect(JSON.parse(page ?? '')).toMatchObject({ truncated: false });
      expect(page).toContain('"type":"task.announce"');
    }
    expect(streamed).toMatch(
      /event: ready\ndata: \{"next":0\}\n\nid: 1\ndata: \{"seq":1,"envelope":\{"type":"task\.announce"/,
    );
    expect(JSON.parse(seen ?? '')).toMatchObject({ room: 'lab', locks: [] });

    const [environment = ''] = await shell([`${hub}\necho "$SYNOD_TOKEN $SYNOD_HUB"`]);
    const [token = '', url = ''] = environment.trim().split(' ');
    // A new token is known within a second.
    const client = await connect({ hub: url, token });
    await expect
      .poll(async () => await new Agent(client, 'agent-1').post('lab', 'by the hub').then(() => 'posted', String))
      .toBe('posted');
    await disconnect(client);

    process.kill(gateway.pid, 'SIGTERM');
    await gateway.exited;
    expect(gateway.tail()).toContain('synod: stopped');
    expect([producer, worker, token].some((secret) => gateway.tail().includes(secret))).toBe(false);
  });

  it('lists and revokes tokens', async () => {
    const [listed = ''] = await shell(['npx synod gateway token ls']);
    const [id = ''] = /^([0-9a-f]{12})\tproducer\tlab$/m.exec(listed)?.slice(1) ?? [];
    expect(listed).toMatch(/\tworkers\t\*\t.*hub/);
    const [left = ''] = await shell([`npx synod gateway token revoke ${id} && npx synod gateway token ls`]);
    expect(left).not.toContain(id);
    await expect(shell([`npx synod gateway token revoke ${id}`])).rejects.toThrow(`there is no token ${id}`);
    await expect(shell(['npx synod gateway token add --agent operator:x --room lab'])).rejects.toThrow('operator');
  });

  it('says what to do where the port is taken, or there are no tokens', async () => {
    const other = createServer().listen(port, '127.0.0.1');
    await once(other, 'listening');
    await expect(shell(['npx synod gateway --port 8787'])).rejects.toThrow(`port ${port} of 127.0.0.1 is taken`);
    other.close();
    await expect(shell(['npx synod gateway --tokens nowhere.json'])).rejects.toThrow(
      'synod gateway token add makes one',
    );
  });
});
