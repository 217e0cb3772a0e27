import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Agent, connect, disconnect } from '../../src/client/index.ts';
import { RECONNECT } from '../../src/dev/connect.ts';
import { startDevServer } from '../../src/dev/server.ts';
import { Guard } from '../support/guard.ts';
import { Lockers } from '../support/lockers.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { retried, say, Wire, type Envelope } from '../support/wire.ts';
import { startWorkerProcess } from '../support/workerProcess.ts';

let stack: Stack;
let folder: string;

beforeAll(async () => {
  stack = await startStack();
  folder = await mkdtemp(path.join(tmpdir(), 'synod-locks-'));
});
afterAll(async () => {
  await stack.stop();
  await rm(folder, { recursive: true, force: true });
});

function request(from: string, more: object = {}): Envelope {
  return say('lock.request', from, { resources: ['x'], lock_type: 'exclusive', wait_seconds: 300, ...more });
}

describe('a holder', () => {
  it('whose process is killed is followed by the next once its lease is over, with a greater token', async () => {
    const room = 'killed';
    const holder = await Lockers.start(stack.server.address, {
      room,
      name: 'dies',
      resource: 'x',
      leaseSeconds: 4,
      hold: true,
    });
    await holder.said(/^holds 1$/);
    const wire = Wire.locks(stack.client, room);
    const [queued] = await wire.ask(request('next'));
    expect(queued).toMatchObject({ type: 'lock.queued', blocked_by: ['dies-0'] });
    await holder.child.kill();
    const granted = await wire.until(({ type, to }) => type === 'lock.granted' && to === 'next');
    const expired = await wire.until(({ type }) => type === 'lock.expired');
    expect(expired).toMatchObject({ holder: 'dies-0', tokens: { x: 1 } });
    expect(granted).toMatchObject({ tokens: { x: 2 } });
    expect(Date.parse(String(granted['ts']))).toBeGreaterThanOrEqual(Date.parse(String(expired['ts'])));
  });

  it('that is stopped past its lease finds its late write refused', async () => {
    const room = 'stopped';
    const guard = await Guard.open(path.join(folder, 'stopped'));
    const client = await connect({ address: stack.server.address });
    try {
      const late = new Promise<void>((resolve) => {
        guard.onVisit = ({ who }) => (who === 'late' ? resolve() : undefined);
      });
      const holder = await Lockers.start(stack.server.address, {
        room,
        name: 'late',
        resource: 'x',
        leaseSeconds: 1,
        guard: guard.port,
      });
      // It has read under its lock; before it writes, it is stopped.
      await late;
      holder.pause();
      const second = new Agent(client, 'second').room(room);
      const token = await second.lock(['x'], { type: 'exclusive', waitSeconds: 300 }, async ({ tokens }) => {
        await guard.visit({ who: 'second', token: tokens.x, line: `1 ${tokens.x} second` });
        return tokens.x;
      });
      guard.enough = true;
      holder.resume();
      await expect.poll(() => guard.refused.length).toBeGreaterThan(0);
      expect(guard.refused[0]).toMatchObject({ who: 'late', token: expect.any(Number) as number });
      expect(guard.refused[0]?.token).toBeLessThan(token);
      expect(await guard.lines()).toEqual([`1 ${token} second`]);
      await holder.child.kill();
    } finally {
      await disconnect(client);
      await guard.close();
    }
  });

  it('whose release is lost and repeated after another has the lock touches nothing', async () => {
    const wire = Wire.locks(stack.client, 'lost-release', { config: { rollback_seconds: 0 } });
    await wire.ask(request('ann', { lease_seconds: 0.3 }));
    await wire.ask(request('bob', { lease_seconds: 300 }));
    await wire.until(({ type, to }) => type === 'lock.granted' && to === 'bob');
    const before = (await wire.view())['resources'];
    // Never arrived: the lease was over first.
    const lost = say('lock.release', 'ann', { lock_id: 'l-1' });
    for (let i = 0; i < 3; i++) expect((await wire.ask(lost))[0]).toMatchObject({ type: 'error', code: 'not_holder' });
    expect((await wire.view())['resources']).toEqual(before);
    // Arrived, and only its answer was lost: the same again, and it frees nothing of the next one's.
    const release = say('lock.release', 'bob', { lock_id: 'l-2' });
    const answer = await wire.ask(release);
    expect(answer).toMatchObject([{ type: 'lock.released', lock_id: 'l-2' }]);
    await wire.ask(request('cleo', { lease_seconds: 300 }));
    expect(await wire.ask(release)).toEqual(answer);
    expect((await wire.ask(say('lock.release', 'bob', { lock_id: 'l-2' })))[0]).toMatchObject({ code: 'not_holder' });
    expect((await wire.ask(say('lock.renew', 'cleo', { lock_id: 'l-3' })))[0]).toMatchObject({ type: 'lock.renewed' });
  });

  it('goes on renewing over a killed worker and a restarted server', async () => {
    const room = 'restarts';
    const dbFilename = path.join(folder, 'temporal.db');
    let server = await startDevServer({ log: () => {}, dbFilename });
    const { address } = server;
    let worker = await startWorkerProcess(address);
    const client = await connect({ address });
    const ends = async (): Promise<number> => {
      const connection = await Connection.connect({ address, channelArgs: RECONNECT });
      try {
        const view = await Wire.locks(new Client({ connection }), room).view();
        return Date.parse(/"lease_expires_at":"([^"]+)"/.exec(JSON.stringify(view))?.[1] ?? '');
      } finally {
        await connection.close();
      }
    };
    /** Until the lease ends later than it did; a server or worker that is not up yet is asked again. */
    const renewed = async (than: number): Promise<number> => {
      let seen = 0;
      const look = async () => (seen = await retried(ends).catch(() => 0));
      await expect.poll(look, { interval: 500 }).toBeGreaterThan(than);
      return seen;
    };
    try {
      const done = await new Agent(client, 'ann')
        .room(room)
        .lock(['x'], { type: 'exclusive', leaseSeconds: 40 }, async ({ tokens, lockId, signal }) => {
          await worker.kill();
          worker = await startWorkerProcess(address);
          const then = await renewed(await renewed(0));
          await worker.kill();
          await server.stop();
          server = await startDevServer({ log: () => {}, dbFilename, port: Number(address.split(':')[1]) });
          worker = await startWorkerProcess(address);
          await renewed(then);
          return { token: tokens.x, lockId, lost: signal.aborted };
        });
      expect(done).toEqual({ token: 1, lockId: 'l-1', lost: false });
    } finally {
      await disconnect(client);
      await worker.kill();
      await server.stop();
    }
  });
});
