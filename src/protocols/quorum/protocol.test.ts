import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../envelope/canonical.ts';
import type { DecisionMessage } from '../../envelope/decision.ts';
import { json } from '../../envelope/fields.ts';
import { ProtocolDrive, type Fields } from '../drive.fixture.ts';
import { quorumProposal } from './protocol.ts';
import type { ProposalState } from './state.ts';

const VOTERS = ['bob', 'cleo', 'dan'];

/** A proposal `p` of ann's: three voters, a quorum of two, a minute. */
function proposed(more: Fields = {}): ProtocolDrive<ProposalState, DecisionMessage> {
  const drive = new ProtocolDrive(quorumProposal, 'synod:lab:proposal:p', { proposal_id: 'p' });
  const fields = { question: 'Publish?', voters: VOTERS, quorum: 2, deadline_seconds: 60, ...more };
  expect(drive.answers('ann', 'propose', fields)).toEqual(['decision.accepted']);
  drive.events();
  return drive;
}

const yes = { choice: 'yes' };
const no = { choice: 'no' };

describe('a vote', () => {
  it('is counted once, and answered with the tally', () => {
    const drive = proposed();
    expect(drive.say('bob', 'vote', yes)).toMatchObject([
      { type: 'decision.voted', to: 'bob', proposal_id: 'p', choice: 'yes', tally: { yes: 1, no: 0 } },
    ]);
    expect(drive.view('votes')).toEqual({ bob: 'yes' });
    expect(drive.events().map(({ type }) => type)).toEqual(['decision.vote', 'decision.voted']);
  });

  it('given again with the same choice is harmless: answered, not counted, not logged', () => {
    const drive = proposed();
    drive.say('bob', 'vote', yes);
    drive.events();
    expect(drive.say('bob', 'vote', { ...yes, reason: 'still' })).toMatchObject([
      { type: 'decision.voted', choice: 'yes', tally: { yes: 1, no: 0 } },
    ]);
    expect(drive.view('status')).toBe('open');
    expect(drive.events()).toEqual([]);
  });

  it('for another choice than the first is refused: already_voted', () => {
    const drive = proposed();
    drive.say('bob', 'vote', yes);
    const [error] = drive.say('bob', 'vote', no);
    expect(error).toMatchObject({ code: 'already_voted', reason: 'bob has voted for "yes"' });
    expect(drive.view('tally')).toEqual({ yes: 1, no: 0 });
  });

  it.each(['maybe', 'Yes', 'yes ', 'constructor', '__proto__'])('for no option (%s) names choice', (choice) => {
    const [error] = proposed().say('bob', 'vote', { choice });
    expect(error).toMatchObject({ code: 'invalid_envelope' });
    expect(error?.['reason']).toMatch(/^choice /);
  });

  it.each(['ann', 'Bob', 'bob.', 'operator:jo'])('of %s, who is no voter, is refused and counted nowhere', (from) => {
    const drive = proposed();
    expect(drive.answers(from, 'vote', yes)).toEqual(['error not_eligible']);
    expect(drive.view('tally')).toEqual({ yes: 0, no: 0 });
  });
});

describe('the quorum', () => {
  it('of two is not one, and commits at the second vote, once, naming choice, tally and votes', () => {
    const drive = proposed();
    expect(drive.answers('bob', 'vote', yes)).toEqual(['decision.voted']);
    const [voted, commit] = drive.say('dan', 'vote', yes);
    expect(voted).toMatchObject({ type: 'decision.voted', to: 'dan', tally: { yes: 2, no: 0 } });
    expect(commit).toMatchObject({
      type: 'decision.commit',
      choice: 'yes',
      tally: { yes: 2, no: 0 },
      votes: { bob: 'yes', dan: 'yes' },
    });
    expect(commit).not.toHaveProperty('to');
    expect(drive.answers('cleo', 'vote', no)).toEqual(['error already_decided']);
    expect(drive.answers('bob', 'vote', yes)).toEqual(['error already_decided']);
    expect(drive.answers('ann', 'withdraw')).toEqual(['error already_decided']);
    expect(
      drive
        .at(60)
        .emitted()
        .filter((type) => type === 'decision.commit'),
    ).toHaveLength(1);
  });

  it('of one commits at the first vote', () => {
    expect(proposed({ quorum: 1 }).answers('cleo', 'vote', no)).toEqual(['decision.voted', 'decision.commit']);
  });

  it.each([4, 0, 1.5])('of %d for three voters is refused, naming quorum', (quorum) => {
    const drive = new ProtocolDrive(quorumProposal, 'synod:lab:proposal:p', { proposal_id: 'p' });
    const fields = { question: 'Publish?', voters: VOTERS, quorum, deadline_seconds: 60 };
    expect(drive.say('ann', 'propose', fields)[0]?.['reason']).toMatch(/^quorum /);
  });
});

describe('a proposal that no option can win any more', () => {
  it('fails at once: unreachable', () => {
    const drive = proposed({ quorum: 3 });
    expect(drive.answers('bob', 'vote', yes)).toEqual(['decision.voted']);
    const [voted, failed] = drive.say('cleo', 'vote', no);
    expect(voted).toMatchObject({ type: 'decision.voted', tally: { yes: 1, no: 1 } });
    expect(failed).toMatchObject({ type: 'decision.failed', reason: 'unreachable', tally: { yes: 1, no: 1 } });
    expect(drive.answers('dan', 'vote', yes)).toEqual(['error closed']);
    expect(drive.host.result?.outcome).toMatchObject({ type: 'decision.failed' });
  });

  it('is open while one option can still win with all that have not voted', () => {
    const drive = proposed({ options: ['a', 'b', 'c'], voters: ['bob', 'cleo', 'dan', 'eve', 'fay'], quorum: 3 });
    drive.say('bob', 'vote', { choice: 'a' });
    drive.say('cleo', 'vote', { choice: 'b' });
    expect(drive.answers('dan', 'vote', { choice: 'c' })).toEqual(['decision.voted']);
    expect(drive.answers('eve', 'vote', { choice: 'a' })).toEqual(['decision.voted']);
    expect(drive.answers('fay', 'vote', { choice: 'a' })).toEqual(['decision.voted', 'decision.commit']);
  });
});

describe('the deadline', () => {
  it('ends it without a decision, and at that very millisecond a vote is too late', () => {
    const drive = proposed();
    drive.say('bob', 'vote', yes);
    expect(drive.at(59.999).answers('cleo', 'vote', no)).toEqual(['decision.voted']);
    drive.now = 60_000;
    expect(drive.answers('dan', 'vote', yes)).toEqual(['error closed']);
    const failed = drive.events().find(({ type }) => type === 'decision.failed');
    expect(failed).toMatchObject({ reason: 'deadline', tally: { yes: 1, no: 1 } });
    expect(failed).not.toHaveProperty('in_reply_to');
  });
});

describe('a withdrawal', () => {
  it.each(['ann', 'operator:jo'])('by %s ends it, with who and why', (from) => {
    const drive = proposed();
    expect(drive.say(from, 'withdraw', { reason: 'outdated' })).toMatchObject([
      { type: 'decision.failed', reason: 'withdrawn', by: from, detail: 'outdated', tally: { yes: 0, no: 0 } },
    ]);
    expect(drive.answers('bob', 'vote', yes)).toEqual(['error closed']);
  });

  it.each(['bob', 'annie'])('by %s is unauthorized', (from) => {
    const drive = proposed();
    expect(drive.answers(from, 'withdraw')).toEqual(['error unauthorized']);
    expect(drive.view('status')).toBe('open');
  });
});

describe('names that every object inherits', () => {
  it('are options and voters like any other, in tallies, votes, views and the next run', () => {
    const options = ['__proto__', 'constructor', 'toString'];
    const drive = proposed({ options, voters: ['constructor', 'valueOf', 'dan'] });
    drive.say('constructor', 'vote', { choice: '__proto__' });
    drive.restart();
    const [, commit] = drive.say('valueOf', 'vote', { choice: '__proto__' });
    const text = (value: unknown) => canonicalJson(json.parse(JSON.parse(JSON.stringify(value))));
    expect(text(commit?.['tally'])).toBe('{"__proto__":2,"constructor":0,"toString":0}');
    expect(text(commit?.['votes'])).toBe('{"constructor":"__proto__","valueOf":"__proto__"}');
    expect(text(drive.view('tally'))).toBe(text(commit?.['tally']));
    expect(text(drive.restart().host.result?.outcome)).toBe(text(commit));
  });
});

describe('a repeat', () => {
  it('of a vote gets the tally of then, and that of now', () => {
    const drive = proposed({ quorum: 3 });
    const vote = drive.message('bob', 'vote', yes);
    const first = drive.send(vote);
    expect(drive.send(vote)).toEqual(first);
    drive.say('cleo', 'vote', yes);
    expect(drive.send(vote).map(({ type, tally }) => ({ type, tally }))).toEqual([
      { type: 'decision.voted', tally: { yes: 1, no: 0 } },
      { type: 'decision.voted', tally: { yes: 2, no: 0 } },
    ]);
    drive.say('dan', 'vote', yes);
    expect(
      drive
        .restart()
        .send(vote)
        .map(({ type }) => type),
    ).toEqual(['decision.voted', 'decision.commit']);
  });

  it('of the deciding vote gets the decision again, and nothing more', () => {
    const drive = proposed({ quorum: 1 });
    const vote = drive.message('bob', 'vote', yes);
    const first = drive.send(vote);
    expect(first).toHaveLength(2);
    expect(drive.restart().send(vote)).toEqual(first);
  });

  it('of the proposal is answered how it ended', () => {
    const drive = new ProtocolDrive(quorumProposal, 'synod:lab:proposal:p', { proposal_id: 'p' });
    const fields = { question: 'Publish?', voters: VOTERS, quorum: 2, deadline_seconds: 60 };
    const propose = drive.message('ann', 'propose', fields);
    drive.send(propose);
    expect(drive.at(61).send(propose)).toMatchObject([
      { type: 'decision.accepted' },
      { type: 'decision.failed', reason: 'deadline' },
    ]);
  });
});

describe('a voter that is a workflow', () => {
  it('is sent what is for it and for the room, until the end', () => {
    const drive = proposed();
    const to = () => drive.host.subscribers.outbox.map(({ to: workflow, envelope }) => `${workflow} ${envelope.type}`);
    drive.say('bob', 'vote', { ...yes, reply_to: 'workflow-b' });
    drive.say('cleo', 'vote', no);
    expect(drive.host.subscribers.size).toBe(1);
    drive.say('dan', 'vote', yes);
    expect(to()).toEqual(['workflow-b decision.voted', 'workflow-b decision.commit']);
    expect(drive.host.subscribers.size).toBe(0);
  });
});

it('fits 256 voters with the longest keys into its budgets', () => {
  const voters = Array.from({ length: 256 }, (_, i) => `voter-${i}`);
  const drive = proposed({ voters, quorum: 256 });
  for (const [i, from] of voters.entries()) {
    const replies = drive.say(from, 'vote', { ...yes, idempotency_key: '\u{1F511}'.repeat(128) });
    expect(replies.map(({ type }) => type)).toEqual(
      i < 255 ? ['decision.voted'] : ['decision.voted', 'decision.commit'],
    );
  }
  expect(drive.host.result?.outcome['votes']).toEqual(Object.fromEntries(voters.map((voter) => [voter, 'yes'])));
  expect(JSON.stringify(drive.host.snapshot()).length).toBeLessThan(2 * 1024 * 1024);
});
