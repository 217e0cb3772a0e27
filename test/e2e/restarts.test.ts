import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { expect, it } from 'vitest';
import { RECONNECT } from '../../src/dev/connect.ts';
import { startDevServer } from '../../src/dev/server.ts';
import { retried, say, Wire, type Envelope } from '../support/wire.ts';
import { startWorkerProcess } from '../support/workerProcess.ts';

/** A workflow before and after: what is done, what its view must say then, what is done afterwards, and how it ends. */
interface Life {
  readonly name: string;
  readonly wire: (client: Client) => Wire;
  readonly before: readonly Envelope[];
  readonly fields: readonly string[];
  readonly after: readonly Envelope[];
  readonly outcome: object;
}

const p = { proposal_id: 'p' };
const b = { phase: 'b' };
const lives: readonly Life[] = [
  {
    name: 'a decision',
    wire: (client) => Wire.proposal(client, 'restarts', 'p'),
    before: [
      say('decision.propose', 'ann', {
        ...p,
        question: 'Publish?',
        voters: ['v1', 'v2', 'v3', 'v4'],
        quorum: 3,
        deadline_seconds: 600,
      }),
      say('decision.vote', 'v1', { ...p, choice: 'yes' }),
      say('decision.vote', 'v2', { ...p, choice: 'no' }),
    ],
    fields: ['status', 'votes', 'tally', 'deadline'],
    after: [say('decision.vote', 'v3', { ...p, choice: 'yes' }), say('decision.vote', 'v4', { ...p, choice: 'yes' })],
    outcome: {
      type: 'decision.commit',
      choice: 'yes',
      tally: { yes: 3, no: 1 },
      votes: { v1: 'yes', v2: 'no', v3: 'yes', v4: 'yes' },
    },
  },
  {
    name: 'a barrier',
    wire: (client) => Wire.barrier(client, 'restarts', 'b'),
    before: [
      say('barrier.open', 'ann', {
        ...b,
        roster: ['m1', 'm2', 'm3', 'm4'],
        timeout_seconds: 600,
        fallback: 'escalate',
      }),
      say('barrier.checkin', 'm3', b),
      say('barrier.checkin', 'm1', b),
      say('barrier.leave', 'm2', b),
    ],
    fields: ['status', 'arrived', 'missing', 'dropped', 'timeout_at'],
    after: [say('barrier.checkin', 'm4', b)],
    outcome: { type: 'barrier.released', arrived: ['m3', 'm1', 'm4'], dropped: ['m2'] },
  },
];

it.each(lives)(
  '$name is the same after its worker was killed and its server restarted in the middle of it',
  async ({ wire: wireOf, before, fields, after, outcome }) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'synod-restart-'));
    const stops: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
    try {
      const options = { dbFilename: path.join(folder, 'server.db'), log: () => undefined };
      const first = await startDevServer(options);
      stops.unshift(() => first.stop());
      const worker = await startWorkerProcess(first.address);
      stops.unshift(() => worker.kill());
      const connection = await Connection.connect({ address: first.address, channelArgs: RECONNECT });
      stops.unshift(() => connection.close());
      const wire = wireOf(new Client({ connection }));
      const answers: Envelope[][] = [];
      for (const message of before) answers.push(await retried(() => wire.ask(message)));
      const view = await wire.view();

      await worker.kill();
      await first.stop();
      const second = await startDevServer({ ...options, port: Number(first.address.split(':')[1]) });
      stops.unshift(() => second.stop());
      const heir = await startWorkerProcess(second.address);
      stops.unshift(() => heir.stop());

      const standing = await retried(() => wire.view());
      for (const field of fields) expect(standing[field]).toEqual(view[field]);
      // Nothing is done twice: a repeat gets its first reply again.
      for (const [i, message] of before.entries()) {
        const again = await retried(() => wire.ask(message));
        expect(again.slice(0, answers[i]?.length)).toEqual(answers[i]);
      }
      for (const field of fields) expect((await retried(() => wire.view()))[field]).toEqual(view[field]);
      for (const message of after) await retried(() => wire.ask(message));
      expect((await retried(() => wire.view()))['outcome']).toMatchObject(outcome);
    } finally {
      for (const stop of stops) await stop();
    }
  },
);
