import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { startStack, type Stack } from '../support/stack.ts';

let stack: Stack;
let gateway: TestGateway;
let ann: string;
let bob: string;
let operator: string;

beforeAll(async () => {
  // As servers are that nobody has configured: ten updates in flight a workflow.
  stack = await startStack({ server: { maxInFlightUpdates: null } });
  gateway = await startGateway(stack.client);
  ann = await gateway.token({ agent: 'ann', rooms: ['lab', 'empty', 'late', 'ids', 'work', 'keys'], rate: 0 });
  bob = await gateway.token({ agent: 'bob', rooms: ['lab', 'late', 'ids', 'work', 'keys'], rate: 0 });
  operator = await gateway.token({ agent: 'olga', rooms: ['*'], operator: true });
});
afterAll(async () => {
  await gateway.close();
  await stack.stop();
});

const say = async (token: string, room: string, message: object) =>
  await gateway.ask(token, `/v1/rooms/${room}/messages`, message);
const typesOf = (replies: readonly { type: string }[] | undefined) => replies?.map(({ type }) => type);

describe('a task', () => {
  it('is announced, claimed, completed and read forward', async () => {
    const announced = await say(ann, 'work', { type: 'task.announce', task_id: 't-1', title: 'Sum up', input: [1, 2] });
    expect(announced).toMatchObject({ status: 201, id: expect.any(String) as string, seq: 1 });
    expect(typesOf(announced.replies)).toEqual(['task.accepted']);
    expect(announced.replies?.[0]).toMatchObject({ in_reply_to: announced.id, to: 'ann' });

    const claimed = await say(bob, 'work', { type: 'task.claim', task_id: 't-1', lease_seconds: 60 });
    expect(claimed.status).toBe(201);
    expect(claimed.replies?.[0]).toMatchObject({ type: 'task.ack', to: 'bob', attempt: 1, lease_seconds: 60 });
    const late = await say(ann, 'work', { type: 'task.claim', task_id: 't-1' });
    expect(late).toMatchObject({ status: 201, replies: [{ type: 'task.closed', holder: 'bob' }] });

    const done = { type: 'task.complete', task_id: 't-1', attempt: 1, result: 3, idempotency_key: 'done-1' };
    const completed = await say(bob, 'work', done);
    expect(completed).toMatchObject({ status: 201, replies: [{ type: 'task.completed', result: 3 }] });
    expect(await say(bob, 'work', done)).toMatchObject({ status: 201, seq: completed.seq });
    expect(await say(ann, 'work', { ...done, from: 'ann' })).toMatchObject({ status: 410, error: { code: 'closed' } });

    // It is published to the room, a moment later.
    const received: string[] = [];
    for (let after = 0; !received.includes('task.completed');) {
      const page = await gateway.ask(ann, `/v1/rooms/work/messages?after=${after}&wait_seconds=20`);
      expect(page.status).toBe(200);
      received.push(...(page.events ?? []).map(({ envelope }) => envelope.type));
      after = page.next ?? 0;
    }
    expect(received).toEqual(expect.arrayContaining(['task.announce', 'task.closed', 'task.completed']) as string[]);
    // It was answered, and is no event.
    expect(received).not.toContain('task.accepted');
    // The ack is bob's.
    expect(received).not.toContain('task.ack');
  });

  it('is read of at once in its own log', async () => {
    await say(ann, 'work', { type: 'task.announce', task_id: 'a/b', title: 'Another' });
    await say(bob, 'work', { type: 'task.claim', task_id: 'a/b' });
    const page = await gateway.ask(bob, `/v1/rooms/work/messages?source=${encodeURIComponent('task:a/b')}`);
    expect(typesOf(page.events?.map(({ envelope }) => envelope))).toEqual(
      expect.arrayContaining(['task.ack', 'task.closed']),
    );
    expect(await gateway.ask(bob, '/v1/rooms/work/messages?source=task:none')).toMatchObject({
      status: 404,
      error: { code: 'unknown' },
    });
    expect(await gateway.ask(bob, '/v1/rooms/work/messages?source=desk:x')).toMatchObject({
      status: 400,
      error: { field: 'source' },
    });
  });
});

describe('a lock', () => {
  const lock = { type: 'lock.request', resources: ['db'], lock_type: 'exclusive', wait_seconds: 60 };
  const idOf = (answer: Awaited<ReturnType<typeof say>>) =>
    JSON.stringify(answer.replies?.[0]?.['lock_id'] ?? null).replaceAll('"', '');

  it('is waited for in its own log, and seen in the room', async () => {
    const held = await say(ann, 'work', lock);
    expect(held.replies?.[0]).toMatchObject({ type: 'lock.granted', to: 'ann' });
    const queued = await say(bob, 'work', lock);
    expect(queued.replies?.[0]).toMatchObject({ type: 'lock.queued', to: 'bob' });
    const after = queued.seq ?? 0;
    const granted = gateway.ask(bob, `/v1/rooms/work/messages?source=locks&after=${after}&wait_seconds=20`);
    const state = await (
      await fetch(`${gateway.url}/v1/rooms/work`, { headers: { authorization: `Bearer ${ann}` } })
    ).text();
    expect(state).toContain('"resource":"db"');
    expect(await say(bob, 'work', { type: 'lock.release', lock_id: idOf(held) })).toMatchObject({
      status: 409,
      error: { code: 'not_holder' },
    });
    expect((await say(ann, 'work', { type: 'lock.release', lock_id: idOf(held) })).status).toBe(201);
    const received: string[] = [];
    for (let page = await granted; !received.includes('lock.granted');) {
      received.push(...(page.events ?? []).map(({ envelope }) => envelope.type));
      if (received.includes('lock.granted')) break;
      page = await gateway.ask(bob, `/v1/rooms/work/messages?source=locks&after=${page.next}&wait_seconds=20`);
    }
    expect(received).toContain('lock.granted');
    expect((await say(bob, 'work', { type: 'lock.release', lock_id: idOf(queued) })).status).toBe(201);
  });

  it('goes to the shard of its resources, and back to it by its id', async () => {
    const config = { shards: 4 };
    await stack.client.workflow.start('lockManager', {
      workflowId: 'synod:shards:locks',
      taskQueue: 'synod',
      args: [{ room: 'shards', config }],
    });
    const held = await say(operator, 'shards', lock);
    expect(held.replies?.[0]).toMatchObject({ type: 'lock.granted' });
    expect(idOf(held)).toMatch(/^l-\d-\d+$/);
    const released = await say(operator, 'shards', { type: 'lock.release', lock_id: idOf(held) });
    expect(released).toMatchObject({ status: 201, replies: [{ type: 'lock.released' }] });
    // A request's key names no shard; the request itself, sent again, is answered with the id that does.
    const mine = { ...lock, idempotency_key: 'mine' };
    await say(operator, 'shards', mine);
    expect(await say(operator, 'shards', { type: 'lock.cancel', request: 'mine' })).toMatchObject({
      status: 400,
      error: { code: 'invalid_envelope', message: expect.stringContaining('cancel by lock_id') as string },
    });
    const again = await say(operator, 'shards', mine);
    const cancelled = await say(operator, 'shards', { type: 'lock.cancel', lock_id: idOf(again) });
    expect(cancelled).toMatchObject({ status: 201, replies: [{ type: 'lock.released' }] });
  });
});

describe('a message', () => {
  it('gets the same answer again, and a conflict with another body', async () => {
    const post = { type: 'room.post', text: 'once', idempotency_key: 'k-1' };
    const first = await say(ann, 'keys', post);
    const again = await say(ann, 'keys', post);
    expect(again).toMatchObject({ status: 201, seq: first.seq });
    const altered = await say(ann, 'keys', { ...post, text: 'twice' });
    expect(altered).toMatchObject({ status: 409, error: { code: 'idempotency_conflict' } });
    const page = await gateway.ask(bob, '/v1/rooms/keys/messages');
    expect(page.events?.filter(({ envelope }) => envelope.type === 'room.post')).toHaveLength(1);
  });

  it('takes a hop, and is not sent on with none left', async () => {
    await say(ann, 'keys', { type: 'room.post', text: 'far', id: 'far', max_hops: 2 });
    const page = await gateway.ask(bob, '/v1/rooms/keys/messages');
    expect(page.events?.find(({ envelope }) => envelope.id === 'far')?.envelope.max_hops).toBe(1);
    for (const hops of [1, 0])
      expect(await say(ann, 'keys', { type: 'room.post', text: 'too far', max_hops: hops })).toMatchObject({
        status: 422,
        error: { code: 'hops_exhausted' },
      });
  });

  it('may be from an operator only with a token that says so', async () => {
    const opened = { type: 'task.announce', task_id: 'forced', title: 'To be cancelled' };
    expect((await say(ann, 'lab', opened)).status).toBe(201);
    const cancel = { type: 'task.cancel', task_id: 'forced', reason: 'enough' };
    expect(await say(bob, 'lab', { ...cancel, from: 'operator:bob' })).toMatchObject({
      status: 403,
      error: { code: 'unauthorized' },
    });
    expect(await say(bob, 'lab', cancel)).toMatchObject({ status: 403, error: { code: 'unauthorized' } });
    expect(await say(operator, 'lab', { ...cancel, from: 'operator:olga' })).toMatchObject({ status: 201 });
  });

  it.each([
    ['another agent', { from: 'bob' }, 403, 'unauthorized'],
    ['the primitives', { from: 'synod' }, 403, 'unauthorized'],
    ['a reply to a workflow', { reply_to: 'somebody-elses' }, 403, 'unauthorized'],
    ['another room', { room: 'elsewhere' }, 400, 'invalid_envelope'],
    ['too long a text', { text: 'x'.repeat(5_000) }, 400, 'invalid_envelope'],
    ['no text', { text: 5 }, 400, 'invalid_envelope'],
    ['a past end', { expires_at: '2020-01-01T00:00:00Z' }, 410, 'expired'],
    ['an unknown type', { type: 'room.shout' }, 400, 'invalid_envelope'],
    ['null hops', { max_hops: null }, 400, 'invalid_envelope'],
  ])('with %s is refused, and nothing is logged', async (_, fields, status, code) => {
    const id = `bad-${code}-${Object.keys(fields).join()}`;
    const answer = await say(ann, 'lab', { type: 'room.post', text: 'x', id, ...fields });
    expect(answer).toMatchObject({ status, error: { code } });
    expect(answer.error?.field).toBe(code === 'invalid_envelope' ? Object.keys(fields)[0] : undefined);
    await say(ann, 'lab', { type: 'room.post', text: 'opens the room' });
    const page = await gateway.ask(operator, '/v1/rooms/lab/messages');
    expect(page.events?.some(({ envelope }) => envelope.id === id && envelope.type === 'room.post')).toBe(false);
  });

  it('gets an error for a task that does not exist', async () => {
    expect(await say(ann, 'lab', { type: 'task.claim', task_id: 'none' })).toMatchObject({
      status: 404,
      error: { code: 'unknown' },
    });
  });
});

describe('reading', () => {
  it('says where nobody has said anything, and waits where it is asked to', async () => {
    expect(await gateway.ask(ann, '/v1/rooms/empty/messages')).toMatchObject({
      status: 404,
      error: { code: 'unknown' },
    });
    expect(await gateway.ask(ann, '/v1/rooms/empty')).toMatchObject({ status: 404, error: { code: 'unknown' } });
    const waiting = gateway.ask(bob, '/v1/rooms/late/messages?wait_seconds=20');
    await say(ann, 'late', { type: 'room.post', text: 'first' });
    expect(await waiting).toMatchObject({ status: 200, events: [{ seq: 1 }], truncated: false });
    // What was just said is there for whoever asks.
    for (let i = 0; i < 10; i++) {
      const { seq } = await say(ann, 'late', { type: 'room.post', text: String(i) });
      const page = await gateway.ask(ann, `/v1/rooms/late/messages?after=${(seq ?? 0) - 1}`);
      expect(page.events?.map((event) => event.seq)).toContain(seq);
    }
  });

  it('goes on after a seq or a message, page by page', async () => {
    for (let i = 1; i <= 5; i++) await say(ann, 'ids', { type: 'room.post', text: `n ${i}`, id: `m-${i}` });
    const after = await gateway.ask(bob, '/v1/rooms/ids/messages?after=m-3');
    expect(after.events?.map(({ envelope }) => envelope['text'])).toEqual(['n 4', 'n 5']);
    const first = await gateway.ask(bob, '/v1/rooms/ids/messages?after=0&limit=2');
    expect(first).toMatchObject({ events: [{ envelope: { id: 'm-1' } }, { envelope: { id: 'm-2' } }] });
    const rest = await gateway.ask(bob, `/v1/rooms/ids/messages?after=${first.next}`);
    expect(rest.events?.map(({ envelope }) => envelope.id)).toEqual(['m-3', 'm-4', 'm-5']);
    expect(await gateway.ask(bob, '/v1/rooms/ids/messages?after=m-99')).toMatchObject({ status: 404 });
    expect(await gateway.ask(bob, '/v1/rooms/ids/messages?after=999')).toMatchObject({
      status: 200,
      truncated: true,
      events: [],
      next: rest.next,
    });
    expect(await gateway.ask(bob, '/v1/rooms/ids/messages?after=-1')).toMatchObject({ events: [], next: rest.next });
  });

  it.each(['limit=0', 'limit=201', 'limit=x', 'wait_seconds=21', 'wait_seconds=-1', 'after=-2'])(
    'refuses %s',
    async (query) => {
      expect(await gateway.ask(ann, `/v1/rooms/lab/messages?${query}`)).toMatchObject({
        status: 400,
        error: { code: 'invalid_envelope', field: query.split('=')[0] },
      });
    },
  );

  it('returns the state of the room', async () => {
    await say(ann, 'work', { type: 'room.join', kind: 'agent', purpose: 'sums up' });
    await say(ann, 'work', { type: 'task.announce', task_id: 'open', title: 'Open' });
    await expect
      .poll(async () => {
        const response = await fetch(`${gateway.url}/v1/rooms/work`, { headers: { authorization: `Bearer ${ann}` } });
        return await response.json();
      })
      .toMatchObject({
        room: 'work',
        agents: [{ id: 'ann', purpose: 'sums up' }],
        tasks: expect.arrayContaining([expect.objectContaining({ id: 'open', status: 'open' })]) as unknown[],
      });
  });
});
