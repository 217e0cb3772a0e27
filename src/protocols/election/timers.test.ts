import { describe, expect, it } from 'vitest';
import { utf8Bytes } from '../../envelope/limits.ts';
import { ElectionDrive } from './election.fixture.ts';
import { sizeOf, type ElectionState } from './state.ts';

/** Bob leads since second 0; the candidates join again at second 20. */
function led(...candidates: readonly string[]): ElectionDrive {
  const election = new ElectionDrive('bob', ...candidates).at(20);
  for (const candidate of candidates) election.say(candidate, 'join');
  election.emitted();
  return election;
}

describe('three heartbeats that do not come', () => {
  it('end the epoch at 3 times the heartbeat, and not before', () => {
    const election = led('cleo', 'ann');
    expect(election.at(29.999).emitted()).toEqual([]);
    expect(election.view('coordinator')).toBe('bob');
    expect(election.at(30).emitted()).toEqual(['coordinator.lost 1 bob', 'coordinator.elected 2 ann']);
  });

  it('come before a heartbeat of the same millisecond', () => {
    const election = led('ann');
    election.now = 30_000;
    expect(election.answers('bob', 'heartbeat', { epoch: 1 })).toEqual(['error stale_epoch']);
  });

  it('count anew for the next coordinator, from its election', () => {
    const election = led('ann').at(30);
    expect(election.host.nextDeadline()).toMatchObject({ at: 60_000 });
    expect(election.at(60).emitted()).toEqual([
      'coordinator.lost 1 bob',
      'coordinator.elected 2 ann',
      'coordinator.lost 2 ann',
    ]);
  });

  it('leave the role vacant where nobody else is active, until somebody joins: in the next epoch', () => {
    const election = new ElectionDrive('bob', 'ann').at(30);
    expect(election.emitted()).toEqual(['coordinator.lost 1 bob']);
    expect(election.host.nextDeadline()).toBeNull();
    expect(election.host.row).toEqual({
      id: 'main',
      kind: 'coordinator',
      status: 'vacant',
      since: '1970-01-01T00:00:30.000Z',
    });
    expect(election.at(500).answers('zoe', 'join')).toEqual(['coordinator.joined 2 zoe']);
    expect(election.host.row).toEqual({
      id: 'main',
      kind: 'coordinator',
      status: 'held',
      holder: 'zoe',
      since: '1970-01-01T00:08:20.000Z',
    });
  });
});

describe('who wins', () => {
  it('is the lowest id by code unit, not by the alphabet or in the order of joining', () => {
    const election = led('ann', 'a10', 'a9', 'Zoe');
    const winners: unknown[] = [];
    for (let epoch = 1; epoch < 5; epoch++) {
      election.say(String(election.view('coordinator')), 'resign', { epoch });
      winners.push(election.view('coordinator'));
    }
    expect(winners).toEqual(['Zoe', 'a10', 'a9', 'ann']);
  });

  it.each([
    [0.001, 'ann'],
    [0, 'cleo'],
  ])('was active within the last 30 s: a join at second %d', (second, winner) => {
    const election = new ElectionDrive('bob');
    election.at(second).say('ann', 'join');
    election.at(15).say('cleo', 'join');
    expect(election.at(30).emitted().at(-1)).toBe(`coordinator.elected 2 ${winner}`);
  });
});

describe('candidates that are not active any more', () => {
  it('are removed, so that the state stays small', () => {
    const election = new ElectionDrive('bob');
    for (let n = 0; n < 1_000; n++) {
      election.at(n).say(`w${n}`, 'join');
      election.say('bob', 'heartbeat', { epoch: 1 });
    }
    expect(election.view('candidate_count')).toBe(31);
    expect(JSON.stringify(election.host.snapshot().state).length).toBeLessThan(2_000);
  });

  it('beyond what the state may hold are refused, and nothing else suffers', () => {
    const election = new ElectionDrive('bob');
    const codes = new Set<string>();
    for (let n = 0; n < 2_950; n++) codes.add(election.answers(`w${n}`.padEnd(128, 'x'), 'join')[0] ?? '');
    expect(codes).toEqual(new Set(['coordinator.joined 1 bob', 'error over_limit']));
    expect(election.answers('bob', 'heartbeat', { epoch: 1 })).toEqual(['coordinator.alive 1']);
  });
});

it('the size of a state is never underrated', () => {
  const id = 'x'.repeat(128);
  const at = Date.UTC(2286, 10, 20);
  const frame: ElectionState = {
    term: { role: '日'.repeat(200), heartbeat_ms: 300_000 },
    epoch: Number.MAX_SAFE_INTEGER,
    since: at,
    leader: { coordinator: id, heard_at: at },
    gone: { type: 'coordinator.resigned', coordinator: id },
    candidates: [],
  };
  for (const candidates of [[], Array.from({ length: 1_000 }, (_, i): [string, number] => [`${i}`, at])]) {
    const state = { ...frame, candidates };
    expect(sizeOf(state)).toBeGreaterThanOrEqual(utf8Bytes(JSON.stringify(state)));
  }
});

describe('what an operator sees', () => {
  it('is who leads and until when, and who the candidates are', () => {
    const election = led('ann');
    expect(election.host.view(undefined, election.now)).toMatchObject({
      status: 'held',
      role: 'main',
      epoch: 1,
      coordinator: 'bob',
      heartbeat_seconds: 10,
      lost_at: '1970-01-01T00:00:30.000Z',
      candidates: [
        { candidate: 'ann', last_active: '1970-01-01T00:00:20.000Z' },
        { candidate: 'bob', last_active: '1970-01-01T00:00:00.000Z' },
      ],
    });
    expect(election.host.details()).toContain('bob leads role "main" in epoch 1');
  });

  it('is how the last one went while nobody leads', () => {
    const election = led();
    expect(election.at(30).host.details()).toMatch(/vacant .*bob was lost/);
    expect(election.view('gone')).toEqual({ type: 'coordinator.lost', coordinator: 'bob' });
    election.say('ann', 'join');
    election.say('ann', 'leave');
    expect(election.host.details()).toMatch(/vacant .*ann has resigned/);
    expect(new ElectionDrive().host.details()).toContain('Nobody has joined yet');
    expect(new ElectionDrive().host.row).toBeUndefined();
  });
});

it('a workflow that is a candidate gets elections for as long as it is one', () => {
  const election = new ElectionDrive();
  const join = { id: 'j', ts: '', type: 'coordinator.join', from: 'ann', reply_to: 'my-workflow' };
  election.host.request([join], 0);
  expect(election.host.subscribers.outbox.map(({ envelope }) => envelope.type)).toEqual([
    'coordinator.joined',
    'coordinator.elected',
  ]);
  expect(election.host.subscribers.size).toBe(1);
  election.at(30);
  expect(election.host.subscribers.outbox.at(-1)?.envelope.type).toBe('coordinator.lost');
  expect(election.host.subscribers.size).toBe(0);
});
