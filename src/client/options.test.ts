import { Client, Connection } from '@temporalio/client';
import { expect, it } from 'vitest';
import { Agent } from './agent.ts';
import { connect } from './connect.ts';
import { known, needed } from '../envelope/options.ts';

const KEYS = { lease_seconds: true, title: true } as const;
const check = (options: object) => () => known('task', options as { lease_seconds?: number; title?: string }, KEYS);

it('names the key that nobody reads, and the one that was meant', () => {
  expect(check({ title: 'x', lease_seconds: 3 })).not.toThrow();
  expect(check({ leaseSeconds: undefined })).not.toThrow();
  expect(check({ leaseSeconds: 3 })).toThrow('invalid_envelope: task has no leaseSeconds: did you mean lease_seconds?');
  expect(check({ toString: 3 })).toThrow('task has no toString: it may have lease_seconds, title');
  expect(check(null as unknown as object)).toThrow('task must be an object');
  expect(check('lease_seconds' as unknown as object)).toThrow('task must be an object');
});

it('names the function that is left out', () => {
  expect(() => needed({ handler: undefined })).toThrow('invalid_envelope: handler must be a function');
  expect(() => needed({ handler: () => undefined })).not.toThrow();
});

it('is asked wherever options are taken, before anything is sent', async () => {
  const client = new Client({ connection: Connection.lazy() });
  const agent = new Agent(client, 'ann');
  const room = agent.room('lab');
  const odd = { odd: 1 } as object;
  const none = async () => undefined;
  const nothing = () => undefined;
  const calls: (() => unknown)[] = [
    () => new Agent(client, 'ann', odd),
    () => connect(odd),
    () => agent.announce('lab', { ...odd, taskId: 't', title: 'x' }),
    () => agent.join('lab', { ...odd, kind: 'k', purpose: 'p' }),
    () => agent.listen('lab', nothing, odd),
    () => agent.board('lab', odd),
    () => agent.work('lab', none, odd),
    () => room.decide({ ...odd, question: 'go?', voters: ['ann'], quorum: 1, deadlineSeconds: 9 }),
    () => room.onProposal(none, odd),
    () => room.barrier('one', odd),
    () => room.lock(['a'], { ...odd, type: 'read' }, none),
    () => room.configureLocks(odd),
    () => room.coordinate('main', none, odd),
    () => room.onDirective('main', nothing, odd),
  ];
  const reasons = await Promise.all(
    calls.map(
      async (call) =>
        await Promise.resolve()
          .then(call)
          .then(() => 'taken', String),
    ),
  );
  expect(reasons.map((reason) => / has no odd: it may have \w+/.test(reason) || reason)).toEqual(calls.map(() => true));
  await client.connection.close();
});

it('checks what a worker is to be', async () => {
  const client = new Client({ connection: Connection.lazy() });
  const worker = (options: object) => new Agent(client, 'ann').work('lab', async () => undefined, options);
  await expect(worker({ concurrency: 0 })).rejects.toThrow('concurrency must be a whole number >= 1');
  await expect(worker({ leaseSeconds: -1 })).rejects.toThrow('leaseSeconds must be a number of seconds');
  await expect(worker({ claimJitterSeconds: 'soon' })).rejects.toThrow(
    'claimJitterSeconds must be a number of seconds',
  );
  await expect(worker({ capabilities: 'ink' })).rejects.toThrow('capabilities must be');
  await expect(worker({ signal: 'stop' })).rejects.toThrow('signal must be an AbortSignal');
  await client.connection.close();
});
