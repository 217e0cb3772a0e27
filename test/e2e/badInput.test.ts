import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faultsOf, runsOf } from '../support/history.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { failing, say, Wire, type Envelope } from '../support/wire.ts';

let stack: Stack;
let task: Wire;
let room: Wire;

// Nothing happens to it by itself while these tests run.
const announcement = { task_id: 't', title: 'a task', claim_seconds: 86_400 };
const claim = (fields: object = {}): object => ({ ...say('task.claim', 'w'), task_id: 't', ...fields });

beforeAll(async () => {
  stack = await startStack();
  task = Wire.task(stack.client, 'bad', 't');
  room = Wire.room(stack.client, 'bad');
  await task.ask(say('task.announce', 'producer', announcement));
  await room.ask(say('room.join', 'human', { kind: 'human', purpose: 'looks on' }));
  // The task is published to the room before anything is compared.
  await room.until(({ type, source }) => type === 'task.announce' && source === task.workflowId);
});
afterAll(async () => {
  try {
    const runs = [...(await runsOf(stack.client, task.workflowId)), ...(await runsOf(stack.client, room.workflowId))];
    // A fault of all tests together: none of them may have failed a workflow task.
    const faults = faultsOf(runs);
    if (faults.length > 0) throw new Error(`workflow tasks have failed: ${faults.join('; ')}`);
  } finally {
    await stack.stop();
  }
});

/** The public state without what counts calls and time. */
async function stateOf(wire: Wire): Promise<Record<string, unknown>> {
  const { counters: _counters, now: _now, identities: _identities, ...state } = await wire.view();
  return state;
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}

/** As it comes off the wire: `__proto__` as a field of its own, which an object literal cannot say. */
function parsed(json: string): unknown {
  return JSON.parse(json);
}

describe('an envelope', () => {
  it.each<[name: string, raw: unknown, code: string, named: string]>([
    ['a string', 'task.claim', 'invalid_envelope', 'envelope'],
    ['null', null, 'invalid_envelope', 'envelope'],
    ['an array', [claim()], 'invalid_envelope', 'envelope'],
    ['a number', 7, 'invalid_envelope', 'envelope'],
    ['an empty object', {}, 'invalid_envelope', 'type'],
    ['a type without a verb', claim({ type: 'task' }), 'invalid_envelope', 'type'],
    ['a numeric type', claim({ type: 7 }), 'invalid_envelope', 'type'],
    ['no id', claim({ id: undefined }), 'invalid_envelope', 'id'],
    ['a numeric id', claim({ id: 7 }), 'invalid_envelope', 'id'],
    ['a long id', claim({ id: 'x'.repeat(129) }), 'invalid_envelope', 'id'],
    ['a null id', claim({ id: null }), 'invalid_envelope', 'id'],
    ['no from', claim({ from: undefined }), 'invalid_envelope', 'from'],
    ['a from with a space', claim({ from: 'two words' }), 'invalid_envelope', 'from'],
    ['the primitives’ own from', claim({ from: 'synod' }), 'unauthorized', 'from'],
    ['no ts', claim({ ts: undefined }), 'invalid_envelope', 'ts'],
    ['no task_id', claim({ task_id: undefined }), 'invalid_envelope', 'task_id'],
    ['a task_id that is no text', claim({ task_id: ['t'] }), 'invalid_envelope', 'task_id'],
    ['another task', claim({ task_id: 'other' }), 'invalid_envelope', 'task_id'],
    ['another room', claim({ room: 'elsewhere' }), 'invalid_envelope', 'room'],
    ['a lone surrogate', claim({ task_id: '\ud800' }), 'invalid_envelope', 'task_id'],
    ['a lone surrogate in its id', claim({ id: 'x\udfff' }), 'invalid_envelope', 'id'],
    ['a lease of 0', claim({ lease_seconds: 0 }), 'invalid_envelope', 'lease_seconds'],
    ['a negative lease', claim({ lease_seconds: -1 }), 'invalid_envelope', 'lease_seconds'],
    ['a lease of 31 days', claim({ lease_seconds: 31 * 86_400 }), 'invalid_envelope', 'lease_seconds'],
    ['a lease past the announced', claim({ lease_seconds: 301 }), 'invalid_envelope', 'lease_seconds'],
    ['a lease of true', claim({ lease_seconds: true }), 'invalid_envelope', 'lease_seconds'],
    ['a lease of null', claim({ lease_seconds: null }), 'invalid_envelope', 'lease_seconds'],
    ['a lease as text', claim({ lease_seconds: '60' }), 'invalid_envelope', 'lease_seconds'],
    ['max_hops of 17', claim({ max_hops: 17 }), 'invalid_envelope', 'max_hops'],
    ['max_hops of 1.5', claim({ max_hops: 1.5 }), 'invalid_envelope', 'max_hops'],
    ['an expires_at that is no time', claim({ expires_at: 'tomorrow' }), 'invalid_envelope', 'expires_at'],
    ['an expires_at that has passed', claim({ expires_at: '2020-01-01T00:00:00Z' }), 'expired', 'expires_at'],
    ['a reply_to inside synod:', claim({ reply_to: 'synod:bad:room' }), 'invalid_envelope', 'reply_to'],
    ['an attempt of 2', { ...claim(), type: 'task.renew', attempt: 2 }, 'invalid_envelope', 'attempt'],
    ['an attempt of 1.5', { ...claim(), type: 'task.renew', attempt: 1.5 }, 'invalid_envelope', 'attempt'],
    ['no attempt', { ...claim(), type: 'task.complete' }, 'invalid_envelope', 'attempt'],
    ['17 KiB', claim({ note: 'x'.repeat(17 * 1024) }), 'over_limit', 'envelope'],
    ['100 levels', claim({ note: nested(100) }), 'invalid_envelope', 'note'],
    ['an operator’s message from an agent', { ...say('config.set', 'w'), config: {} }, 'unauthorized', 'config.set'],
  ])('with %s is refused and changes nothing', async (_name, raw, code, named) => {
    const before = await stateOf(task);
    const [answers] = await task.request(raw);
    expect(answers).toEqual([expect.objectContaining({ type: 'error', code })]);
    expect(String(answers?.[0]?.['reason'])).toContain(named);
    expect(await stateOf(task)).toEqual(before);
  });

  it('with __proto__ fields is read without them', async () => {
    const raw = parsed(
      '{"type":"room.post","id":"p-1","from":"w","ts":"","text":"hello","__proto__":{"text":"other"},"constructor":{"prototype":1}}',
    );
    const [answer] = await room.ask(raw);
    expect(answer?.type).toBe('room.accepted');
    const posted = await room.until(({ id, from }) => id === 'p-1' && from === 'w');
    expect(posted['text']).toBe('hello');
    expect(Object.keys(posted)).not.toContain('constructor');
  });

  it('with __proto__ as its type, id or config is refused', async () => {
    const before = await stateOf(room);
    const strange = await room.request(
      parsed('{"type":"__proto__","id":"p-2","from":"w","ts":""}'),
      parsed('{"type":"room.post","__proto__":{"id":"p-3","from":"w","ts":"","text":"x"}}'),
    );
    expect(strange.map(([first]) => first?.['code'])).toEqual(['invalid_envelope', 'invalid_envelope']);
    const [configured] = await room.ask({
      ...say('config.set', 'operator:o'),
      config: parsed('{"__proto__":{"retain":1}}'),
    });
    expect(configured?.type).toBe('config.accepted');
    const after = await stateOf(room);
    expect(after['config']).toEqual(before['config']);
  });

  it('of a type that nobody handles is not answered', async () => {
    expect(await task.request(say('no.such_thing', 'w'), say('room.post', 'w', { text: 'x' }))).toEqual([[], []]);
  });

  it('by signal is refused in the log, addressed to its sender, and never wedges', async () => {
    for (const raw of ['text', null, 7, [], {}, nested(100)]) await task.signal(raw);
    await task.signal(claim({ from: 'signaller', lease_seconds: 0 }));
    const refusal = await task.until(({ type, to }) => type === 'error' && to === 'signaller', ['signaller']);
    expect(refusal['code']).toBe('invalid_envelope');
    expect(refusal['reason']).toContain('lease_seconds');
  });
});

describe('a request', () => {
  it.each<[name: string, raw: unknown, code: string]>([
    ['a string', 'x', 'invalid_envelope'],
    ['null', null, 'invalid_envelope'],
    ['one envelope without a list', say('task.claim', 'w', { task_id: 't' }), 'invalid_envelope'],
    ['513 envelopes', Array.from({ length: 513 }, () => claim()), 'over_limit'],
    ['1.5 MiB', Array.from({ length: 100 }, () => claim({ note: 'x'.repeat(15_700) })), 'over_limit'],
  ])('of %s fails with nothing done', async (_name, raw, code) => {
    const before = await task.view();
    expect((await failing(task.requestRaw(raw))).type).toBe(code);
    expect({ ...(await task.view()), now: before['now'] }).toEqual(before);
  });

  it('of nothing is answered with nothing', async () => {
    expect(await task.request()).toEqual([]);
  });

  it('of 512 envelopes is answered one by one', async () => {
    const replies = await task.request(
      ...Array.from({ length: 512 }, (_, i) => (i % 2 === 0 ? null : say('no.such_thing', 'w'))),
    );
    expect(replies.map((answers) => answers.length)).toEqual(
      Array.from({ length: 512 }, (_, i) => (i % 2 === 0 ? 1 : 0)),
    );
  });
});

describe('receive', () => {
  it.each<[name: string, raw: unknown, named: string]>([
    ['nothing', undefined, 'receive'],
    ['null', null, 'receive'],
    ['no agents', { after: 0 }, 'agents'],
    ['agents that are text', { agents: 'w', after: 0 }, 'agents'],
    ['an agent with a space', { agents: ['two words'], after: 0 }, 'agents'],
    ['no after', { agents: ['w'] }, 'after'],
    ['after -2', { agents: ['w'], after: -2 }, 'after'],
    ['after 0.5', { agents: ['w'], after: 0.5 }, 'after'],
    ['a wait of 21 s', { agents: ['w'], after: 0, wait_seconds: 21 }, 'wait_seconds'],
    ['a wait of -1 s', { agents: ['w'], after: 0, wait_seconds: -1 }, 'wait_seconds'],
    ['a limit of 201', { agents: ['w'], after: 0, limit: 201 }, 'limit'],
    ['a limit of 0', { agents: ['w'], after: 0, limit: 0 }, 'limit'],
    ['a reader of 129 characters', { agents: ['w'], after: 0, reader: 'x'.repeat(129) }, 'reader'],
  ])('with %s fails and names it', async (_name, raw, named) => {
    const failure = await failing(task.receiveRaw(raw));
    expect(failure.type).toBe('invalid_envelope');
    expect(failure.message).toContain(named);
  });

  it('past the head says truncated and goes on from the head', async () => {
    const { head } = (await task.view())['log'] as { head: number };
    expect(await task.receive({ agents: ['w'], after: 1_000_000, wait_seconds: 20 })).toMatchObject({
      events: [],
      next: head,
      truncated: true,
    });
  });
});

describe('a task announced twice', () => {
  const twice = async (
    name: string,
    second: (first: Envelope) => Envelope,
  ): Promise<[Envelope[], Envelope[], Record<string, unknown>[]]> => {
    const wire = Wire.task(stack.client, 'bad', name);
    const opening = say('task.announce', 'producer', { ...announcement, task_id: name });
    const first = await wire.ask(opening);
    const before = await stateOf(wire);
    return [first, await wire.ask(second(opening)), [before, await stateOf(wire)]];
  };

  it('with the same body and key is answered the same', async () => {
    const [first, second, [before, after]] = await twice('same', (opening) => opening);
    expect(second).toEqual(first);
    expect(after).toEqual(before);
  });

  it.each<[name: string, change: (opening: Envelope) => Envelope]>([
    ['another key and the same body', (opening) => ({ ...opening, id: 'another' })],
    ['the same key and another body', (opening) => ({ ...opening, title: 'another' })],
    ['another sender', (opening) => ({ ...opening, from: 'another' })],
  ])('with %s is a conflict', async (name, change) => {
    const [, second, [before, after]] = await twice(name.replaceAll(' ', '-'), change);
    expect(second).toEqual([expect.objectContaining({ type: 'error', code: 'idempotency_conflict' })]);
    expect(after).toEqual(before);
  });
});

it('a workflow under a wrong id fails at once and says why', async () => {
  const stray = new Wire(stack.client, 'taskLease', 'not-synod', 'bad');
  expect((await failing(stray.request(say('task.claim', 'w', { task_id: 't' })))).message).toBeTruthy();
  expect((await failing(stray.handle.result())).type).toBe('invalid_envelope');
});
