import { describe, expect, it } from 'vitest';
import { ElectionDrive } from './election.fixture.ts';

describe('coordinator.join', () => {
  it('elects the first at once; the others are answered who leads', () => {
    const election = new ElectionDrive();
    const [joined] = election.say('bob', 'join', { heartbeat_seconds: 7 });
    expect(joined).toMatchObject({
      type: 'coordinator.joined',
      to: 'bob',
      role: 'main',
      epoch: 1,
      coordinator: 'bob',
      heartbeat_seconds: 7,
    });
    expect(election.answers('ann', 'join')).toEqual(['coordinator.joined 1 bob']);
    const elected = election.events().filter(({ type }) => type === 'coordinator.elected');
    expect(elected).toMatchObject([{ from: 'synod', role: 'main', epoch: 1, coordinator: 'bob' }]);
    expect(elected[0]).not.toHaveProperty('to');
    expect(elected[0]).not.toHaveProperty('in_reply_to');
  });

  it('fixes the heartbeat with the first one ever', () => {
    const election = new ElectionDrive();
    election.say('bob', 'join', { heartbeat_seconds: 2 });
    expect(election.say('ann', 'join', { heartbeat_seconds: 100 })).toMatchObject([{ heartbeat_seconds: 2 }]);
    election.at(6);
    expect(election.view('status')).toBe('vacant');
    expect(election.say('ann', 'join', { heartbeat_seconds: 100 })).toMatchObject([{ heartbeat_seconds: 2 }]);
    expect(election.host.nextDeadline()?.at).toBe(12_000);
  });

  it('repeated is answered and not logged; after a lapse it is logged', () => {
    const election = new ElectionDrive('bob', 'ann');
    expect(election.at(20).answers('ann', 'join')).toEqual(['coordinator.joined 1 bob']);
    expect(election.answers('bob', 'heartbeat', { epoch: 1 })).toEqual(['coordinator.alive 1']);
    expect(election.events()).toEqual([]);
    expect(election.at(49.999).answers('ann', 'join')).toEqual(['coordinator.joined 1 bob']);
    expect(election.answers('bob', 'heartbeat', { epoch: 1 })).toEqual(['coordinator.alive 1']);
    expect(election.events()).toEqual([]);
    election.at(75).say('bob', 'heartbeat', { epoch: 1 });
    election.at(79.998).say('ann', 'join');
    expect(election.events()).toEqual([]);
    election.at(104).say('bob', 'heartbeat', { epoch: 1 });
    expect(election.at(109.998).answers('ann', 'join')).toEqual(['coordinator.joined 1 bob']);
    expect(election.events()).toMatchObject([{ type: 'coordinator.join' }, { type: 'coordinator.joined' }]);
  });

  it('of a lower id deposes nobody', () => {
    const election = new ElectionDrive('bob');
    expect(election.answers('ann', 'join')).toEqual(['coordinator.joined 1 bob']);
    expect(election.answers('bob', 'directive', { epoch: 1, directive: 'go on' })).toEqual(['coordinator.accepted 1']);
  });

  it('repeated under its own id is answered who leads now, or that nobody does', () => {
    const election = new ElectionDrive();
    const join = { id: 'j', ts: '', type: 'coordinator.join', from: 'bob' };
    const repeat = () =>
      election.host
        .request([join], election.now)
        .flatMap((replies) => replies.map(({ type, epoch, coordinator }) => [type, epoch, coordinator]));
    const first = ['coordinator.joined', 1, 'bob'];
    expect(repeat()).toEqual([first]);
    expect(repeat()).toEqual([first]);
    election.say('ann', 'join');
    election.say('bob', 'resign', { epoch: 1 });
    expect(repeat()).toEqual([first, ['coordinator.elected', 2, 'ann']]);
    election.at(30);
    expect(repeat()).toEqual([first, ['coordinator.lost', 2, 'ann']]);
    // It was done once: bob is no candidate again by it.
    expect(election.view('candidate_count')).toBe(0);
  });
});

describe('coordinator.heartbeat', () => {
  it('counts the time of the coordinator anew, and is not logged', () => {
    const election = new ElectionDrive('bob');
    const [alive] = election.at(29.999).say('bob', 'heartbeat', { epoch: 1 });
    expect(alive).toMatchObject({ type: 'coordinator.alive', to: 'bob', epoch: 1 });
    expect(alive).not.toHaveProperty('seq');
    expect(election.at(59.998).emitted()).toEqual([]);
    expect(election.at(59.999).emitted()).toEqual(['coordinator.lost 1 bob']);
  });

  it('is what keeps a coordinator: joining again does not', () => {
    const election = new ElectionDrive('bob');
    election.at(20).say('bob', 'join');
    // It is active all the same, so it wins again: in the next epoch.
    expect(election.at(30).emitted()).toEqual(['coordinator.lost 1 bob', 'coordinator.elected 2 bob']);
    expect(election.answers('bob', 'heartbeat', { epoch: 1 })).toEqual(['error stale_epoch']);
  });

  it.each(['heartbeat', 'directive', 'resign'])('like every message of a coordinator is fenced: %s', (verb) => {
    const say = (election: ElectionDrive, from: string, epoch: number) =>
      election.answers(from, verb, { epoch, ...(verb === 'directive' ? { directive: 'go' } : {}) });
    expect(say(new ElectionDrive(), 'ann', 1)).toEqual(['error invalid_envelope']);
    const election = new ElectionDrive('bob', 'ann');
    expect(say(election, 'ann', 1)).toEqual(['error not_holder']);
    expect(say(election, 'bob', 2)).toEqual(['error invalid_envelope']);
    expect(say(election, 'ann', 2)).toEqual(['error invalid_envelope']);
    election.say('bob', 'resign', { epoch: 1 });
    expect(say(election, 'bob', 1)).toEqual(['error stale_epoch']);
    expect(say(election, 'ann', 1)).toEqual(['error stale_epoch']);
    // The role is vacant: the epoch is not over for another, but for everybody.
    election.at(30);
    expect(say(election, 'ann', 2)).toEqual(['error not_holder']);
    expect(say(election, 'ann', 3)).toEqual(['error invalid_envelope']);
  });
});

describe('coordinator.directive', () => {
  it('is logged for the room as it was sent, with its epoch', () => {
    const election = new ElectionDrive('bob');
    const directive = { sort: ['a', 1, null] };
    const [accepted] = election.say('bob', 'directive', { epoch: 1, directive });
    expect(accepted).toMatchObject({ type: 'coordinator.accepted', to: 'bob', role: 'main', epoch: 1 });
    const [logged] = election.events();
    expect(logged).toMatchObject({ type: 'coordinator.directive', from: 'bob', epoch: 1, directive });
    expect(logged).not.toHaveProperty('to');
  });

  it('is logged whole or refused: what nobody could read binds nobody', () => {
    const election = new ElectionDrive('bob');
    const bare = { id: 'm2', ts: '', type: 'coordinator.directive', from: 'bob', epoch: 1 };
    const room = 16 * 1024 - JSON.stringify({ ...bare, directive: '' }).length;
    const codes = [0, 10, 20, 30, 40, 50, 60].map((less) => {
      const directive = 'x'.repeat(room - less);
      const [reply] = election.say('bob', 'directive', { epoch: 1, directive });
      const [logged] = election.events();
      expect(logged?.['directive']).toBe(reply?.type === 'error' ? undefined : directive);
      return reply?.['code'];
    });
    expect(codes).toEqual(expect.arrayContaining(['over_limit', undefined]));
  });

  it('is no heartbeat', () => {
    const election = new ElectionDrive('bob');
    election.at(25).say('bob', 'directive', { epoch: 1, directive: 'go' });
    expect(election.at(30).emitted()).toContain('coordinator.lost 1 bob');
  });

  it('of a coordinator that was cut off is refused once another leads, with its name', () => {
    const election = new ElectionDrive('bob', 'ann');
    election.at(20).say('ann', 'join');
    election.at(30);
    const [refused] = election.say('bob', 'directive', { epoch: 1, directive: 'too late' });
    expect(refused).toMatchObject({
      type: 'error',
      code: 'stale_epoch',
      reason: expect.stringContaining('ann') as string,
    });
    expect(election.events().map(({ type }) => type)).not.toContain('coordinator.directive');
  });
});

describe('a coordinator that goes of its own accord', () => {
  it('by resigning is followed at once, and is no candidate any more', () => {
    const election = new ElectionDrive('ann', 'cleo', 'bob');
    const [resigned] = election.say('ann', 'resign', { epoch: 1 });
    expect(resigned).toMatchObject({ type: 'coordinator.resigned', epoch: 1, coordinator: 'ann' });
    expect(resigned).not.toHaveProperty('to');
    expect(election.emitted()).toEqual(['coordinator.resigned 1 ann', 'coordinator.elected 2 bob']);
    election.say('bob', 'resign', { epoch: 2 });
    election.say('cleo', 'resign', { epoch: 3 });
    expect(election.emitted().at(-1)).toBe('coordinator.resigned 3 cleo');
    expect(election.view('status')).toBe('vacant');
  });

  it('by leaving has resigned', () => {
    const election = new ElectionDrive('ann', 'bob');
    expect(election.answers('ann', 'leave')).toEqual(['coordinator.resigned 1 ann', 'coordinator.left']);
    expect(election.view('coordinator')).toBe('bob');
    expect(election.answers('ann', 'leave')).toEqual(['error not_eligible']);
  });

  it('may join again later', () => {
    const election = new ElectionDrive('ann', 'bob');
    election.say('ann', 'resign', { epoch: 1 });
    expect(election.answers('ann', 'join')).toEqual(['coordinator.joined 2 bob']);
    election.say('bob', 'resign', { epoch: 2 });
    expect(election.view('coordinator')).toBe('ann');
  });
});

describe('a candidate that leaves', () => {
  it('is not elected, and nothing else changes', () => {
    const election = new ElectionDrive('cleo', 'ann', 'bob');
    const [left] = election.say('ann', 'leave');
    expect(left).toMatchObject({ type: 'coordinator.left', to: 'ann' });
    expect(election.view('coordinator')).toBe('cleo');
    election.say('cleo', 'resign', { epoch: 1 });
    expect(election.view('coordinator')).toBe('bob');
  });

  it('without ever having joined is refused', () => {
    expect(new ElectionDrive('ann').answers('zoe', 'leave')).toEqual(['error not_eligible']);
  });
});
