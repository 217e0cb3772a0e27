import { describe, expect, it } from 'vitest';
import { brokenProtocols as brokenBarriers } from '../../src/protocols/barrier/broken.fixture.ts';
import { brokenLedgers } from '../../src/protocols/bridge/broken.fixture.ts';
import { brokenProtocols as brokenDecisions } from '../../src/protocols/quorum/broken.fixture.ts';
import { brokenProtocols } from '../../src/protocols/task-lease/broken.fixture.ts';
import { brokenProtocols as brokenElections } from '../../src/protocols/election/broken.fixture.ts';
import { explore, type Scope } from './explore.ts';
import { ledgerScope } from './scopes/chatLedger.ts';
import { electionScope } from './scopes/election.ts';
import { barrierScope } from './scopes/barrier.ts';
import { quorumScope } from './scopes/quorum.ts';
import { taskScope, type TaskScopeOptions } from './scopes/taskLease.ts';

const small: TaskScopeOptions = { agents: ['bob', 'cleo'], messages: 3, claimsEach: 2, maxAttempts: 2 };
const limits = { maxStates: 100_000 };
/** The nearest states, in which what is broken shows. */
const few = { maxStates: 3_000 };

/** Counts from 0 to 3 by one or by two; 3 is what must not be. */
const counting: Scope<number> = {
  name: 'counting',
  start: () => ({ label: 'start', next: 0, broken: [] }),
  *moves(n) {
    for (const step of [1, 2].filter((each) => n + each <= 3)) {
      yield { label: `add ${step}`, next: n + step, broken: n + step === 3 ? ['never three'] : [] };
    }
  },
  key: String,
};

describe('the explorer', () => {
  it('reaches every state once, and gives the shortest path to each violation', () => {
    expect(explore(counting, limits)).toEqual({
      name: 'counting',
      states: 4,
      transitions: 5,
      exhausted: true,
      violations: 2,
      examples: [{ property: 'never three', path: ['start', 'add 1', 'add 2'] }],
    });
  });

  it('stops at the first state that breaks a named property, where one is named', () => {
    const endless: Scope<number> = {
      ...counting,
      *moves(n) {
        yield { label: 'add 1', next: n + 1, broken: n + 1 === 3 ? ['never three'] : [] };
        yield { label: 'skip', next: n + 100, broken: [] };
      },
    };
    const result = explore(endless, { ...limits, stopAt: 'never three' });
    expect(result).toMatchObject({ exhausted: false, examples: [{ property: 'never three' }] });
    expect(result.states).toBeLessThan(20);
    expect(explore(counting, { ...limits, stopAt: 'never four' })).toMatchObject({ states: 4, exhausted: true });
  });

  it('says when it gave up', () => {
    expect(explore(counting, { maxStates: 3 })).toMatchObject({ states: 3, exhausted: false });
    expect(explore(counting, { maxStates: 4 })).toMatchObject({ states: 4, exhausted: true });
  });
});

describe('the task lease', () => {
  it('breaks nothing in a small world, all of which is reached', () => {
    const result = explore(taskScope('small', small), limits);
    expect(result).toMatchObject({ exhausted: true, violations: 0, examples: [] });
    // A world without messages, expiries or repeats would be much smaller.
    expect(result.states).toBeGreaterThan(500);
    expect(result.transitions).toBeGreaterThan(5 * result.states);
  });

  it('breaks nothing where the announcement expires', () => {
    const result = explore(taskScope('expiring', { ...small, messages: 2, expiresTicks: 3 }), limits);
    expect(result).toMatchObject({ exhausted: true, violations: 0 });
  });

  // A millisecond is no tick of this world's clock: the schedules of the properties find that one.
  it.each(brokenProtocols.filter(({ breaks }) => breaks !== 'no early expiry'))('is caught with $name', (broken) => {
    const { protocol, breaks } = broken;
    const result = explore(taskScope('broken', { ...small, protocol }), { ...limits, stopAt: breaks });
    expect(result.violations).toBeGreaterThan(0);
    expect(result.examples.map(({ property }) => property)).toContain(breaks);
  });
});

describe('the coordinator election', () => {
  const options = { candidates: ['ann', 'bob'], messages: 3 };

  it('breaks nothing in a small world, all of which is reached', () => {
    const result = explore(electionScope('small', options), limits);
    expect(result).toMatchObject({ exhausted: true, violations: 0, examples: [] });
    expect(result.states).toBeGreaterThan(500);
    expect(result.transitions).toBeGreaterThan(3 * result.states);
  });

  // A millisecond is no tick of this world's clock, and of two who are active one always leads: no lower one is left to win.
  const caught = brokenElections.filter(
    ({ name }) => !['a coordinator lost a millisecond early', 'the highest id'].includes(name),
  );
  it.each(caught)('is caught with $name', ({ protocol, breaks }) => {
    const result = explore(electionScope('broken', { ...options, protocol }), { ...limits, stopAt: breaks });
    expect(result.examples.map(({ property }) => property)).toContain(breaks);
  });
});

describe('a decision', () => {
  it('breaks nothing in a small world, all of which is reached', () => {
    const result = explore(quorumScope('small', 3), limits);
    expect(result).toMatchObject({ exhausted: true, violations: 0, examples: [] });
    expect(result.states).toBeGreaterThan(500);
  });

  // A millisecond is no tick of this world's clock, and no voter of it can vote for anything else.
  const seen = brokenDecisions.filter(({ name }) => !/early|anything|nothing can win/.test(name));
  it.each(seen)('is caught with $name', ({ protocol, breaks }) => {
    const { examples } = explore(quorumScope('broken', 3, protocol), { ...few, stopAt: breaks });
    expect(examples.map(({ property }) => property)).toContain(breaks);
  });
});

describe('a barrier', () => {
  it('breaks nothing in a small world, all of which is reached', () => {
    const result = explore(barrierScope('small', 2, 'proceed'), limits);
    expect(result).toMatchObject({ exhausted: true, violations: 0, examples: [] });
    expect(result.states).toBeGreaterThan(300);
  });

  it.each(brokenBarriers.filter(({ name }) => !/millisecond/.test(name)))('is caught with $name', (broken) => {
    const { examples } = explore(barrierScope('broken', 4, 'proceed', broken.protocol), {
      ...few,
      stopAt: broken.breaks,
    });
    expect(examples.map(({ property }) => property)).toContain(broken.breaks);
  });
});

describe('the ledger of a chat', () => {
  const small = { parts: [1, 2], kills: 1, unknowns: 1 };

  it.each([true, false])('breaks nothing in a small world, all of which is reached; asked: %s', (asked) => {
    const result = explore(ledgerScope('small', { ...small, asked }), limits);
    expect(result).toMatchObject({ exhausted: true, violations: 0, examples: [] });
    expect(result.states).toBeGreaterThan(1_000);
  });

  it.each(brokenLedgers)('is caught with $name', ({ protocol, breaks }) => {
    const { examples } = explore(ledgerScope('broken', { ...small, asked: true, protocol }), {
      ...few,
      stopAt: breaks,
    });
    expect(examples.map(({ property }) => property)).toContain(breaks);
  });

  it('catches a bridge that posts what may be there without a look', () => {
    const { examples } = explore(ledgerScope('blind', { ...small, asked: true, blind: true }), few);
    expect(examples.map(({ property }) => property)).toContain('a repeat is marked');
  });
});
