import type { Client } from '@temporalio/client';
import { expect, it } from 'vitest';
import { bodyHash, type Base } from '../../envelope/envelope.ts';
import { taskMessages } from '../../envelope/task.ts';
import { lastAnswer, standingOf } from './closed.ts';
import { compose } from '../messages/compose.ts';

const OPENING = 'task.announce';
const announce = (fields: { title?: string; idempotency_key?: string } = {}, from = 'producer'): Base =>
  compose(taskMessages['task.announce'], from, {
    type: OPENING,
    task_id: 't',
    title: 'count',
    idempotency_key: 'announce-t',
    ...fields,
  });
const outcome = { type: 'task.completed', id: 'o-1', from: 'synod', ts: '', task_id: 't', attempt: 2 };
const ended = {
  outcome,
  opened: { from: 'producer', idempotency_key: 'announce-t', body_hash: bodyHash(announce()) },
};

it('answers the same opening, sent again under another id, as the first time and then with how it ended', () => {
  const again = announce();
  const replies = lastAnswer(again, ended, OPENING);
  expect(replies).toEqual([
    expect.objectContaining({ type: 'task.accepted', to: 'producer', from: 'synod', in_reply_to: again.id }),
    { ...outcome, in_reply_to: again.id },
  ]);
});

it.each([
  ['another body', announce({ title: 'count again' })],
  ['another key', announce({ idempotency_key: 'announce-t-2' })],
  ['another sender', announce({}, 'somebody')],
])('is in conflict with an opening that has %s', (_, other) => {
  expect(lastAnswer(other, ended, OPENING)).toEqual([
    expect.objectContaining({ type: 'error', code: 'idempotency_conflict', in_reply_to: other.id, to: other.from }),
  ]);
});

it('is in conflict with any opening where it is not known who opened it', () => {
  expect(lastAnswer(announce(), { outcome, opened: undefined }, OPENING)).toEqual([
    expect.objectContaining({ code: 'idempotency_conflict', reason: expect.stringContaining('nobody') as string }),
  ]);
});

it('is closed to everything else, and says how it ended', () => {
  const claim = compose(taskMessages['task.claim'], 'worker', { type: 'task.claim', task_id: 't' });
  expect(lastAnswer(claim, ended, OPENING)).toEqual([
    expect.objectContaining({
      code: 'closed',
      reason: expect.stringContaining('task.completed') as string,
      to: 'worker',
    }),
  ]);
});

it('keeps a reply id within its bounds', () => {
  const long: Base = { ...announce(), id: 'x'.repeat(128) };
  for (const { id } of lastAnswer(long, ended, OPENING)) expect(id.length).toBeLessThanOrEqual(128);
});

/** A client whose workflows all have one status. */
function clientWith(name: string): Client {
  const handle = { describe: async () => ({ status: { name } }), result: async () => ({ outcome }) };
  return { workflow: { getHandle: () => handle } } as unknown as Client;
}

it.each([
  ['RUNNING', 'running'],
  ['CONTINUED_AS_NEW', 'running'],
  ['PAUSED', 'running'],
  ['FAILED', 'free'],
  ['CANCELLED', 'free'],
  ['TERMINATED', 'free'],
  ['TIMED_OUT', 'free'],
  ['COMPLETED', 'ended'],
])('takes a workflow that is %s for %s', async (name, kind) => {
  expect(await standingOf(clientWith(name), 'synod:lab:task:t')).toMatchObject({ kind });
});

it.each(['UNSPECIFIED', 'UNKNOWN'])('takes a name for free only where its workflow has failed: %s', async (name) => {
  await expect(standingOf(clientWith(name), 'synod:lab:task:t')).rejects.toThrow(
    `synod:lab:task:t has the status ${name}`,
  );
});
