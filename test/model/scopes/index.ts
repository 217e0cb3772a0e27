import { explore, type Limits, type Result } from '../explore.ts';
import { barrierScope } from './barrier.ts';
import { ledgerScope } from './chatLedger.ts';
import { electionScope } from './election.ts';
import { lockScope } from './locks.ts';
import { quorumScope } from './quorum.ts';
import { taskScope } from './taskLease.ts';

/** One world to explore. */
export interface Entry {
  readonly name: string;
  /** What is in it, in a line. */
  readonly about: string;
  readonly run: (limits: Limits) => Result;
}

const agents = ['bob', 'cleo'];

/** Every scope that `npm run model` explores. A later protocol adds its own here. */
export const scopes: readonly Entry[] = [
  {
    name: 'task-lease',
    about: 'two agents and a producer, one task of two attempts, five messages, any repeats',
    run: (limits) => explore(taskScope('task-lease', { agents, messages: 5, claimsEach: 2, maxAttempts: 2 }), limits),
  },
  {
    name: 'task-lease-expiring',
    about: 'the same with an announcement that expires, four messages, any repeats',
    run: (limits) => {
      const options = { agents, messages: 4, claimsEach: 2, maxAttempts: 2, expiresTicks: 3 };
      return explore(taskScope('task-lease-expiring', options), limits);
    },
  },
  {
    name: 'election',
    about: 'three candidates for one role, three messages after the first join, any repeats',
    run: (limits) => explore(electionScope('election', { candidates: ['ann', 'bob', 'cleo'], messages: 3 }), limits),
  },
  {
    name: 'locks',
    about: 'three agents, two resources, each or both, read, write and exclusive; three locks at a time, for ever',
    run: (limits) => {
      const options = {
        agents: [...agents, 'ann'],
        resources: ['a', 'b'],
        sets: true,
        locks: 3,
        leaseTicks: 1,
        waitTicks: 2,
      };
      return explore(lockScope('locks', { ...options, kinds: ['read', 'write', 'exclusive'] }), limits);
    },
  },
  {
    name: 'locks-deadlock',
    about: 'the same with exclusive locks of one resource and four at a time: each may hold one and ask for the other',
    run: (limits) => {
      const options = {
        agents: [...agents, 'ann'],
        resources: ['a', 'b'],
        sets: false,
        locks: 4,
        leaseTicks: 2,
        waitTicks: 2,
      };
      return explore(lockScope('locks-deadlock', { ...options, kinds: ['exclusive'] }), limits);
    },
  },
  {
    name: 'quorum',
    about: 'three voters with a quorum of two, and others, four messages, any repeats',
    run: (limits) => explore(quorumScope('quorum', 4), limits),
  },
  ...(['proceed', 'escalate', 'fail'] as const).map((fallback) => ({
    name: `barrier-${fallback}`,
    about: `a roster of three in two parts with the fallback ${fallback}, four messages, any repeats`,
    run: (limits: Limits) => explore(barrierScope(`barrier-${fallback}`, 4, fallback), limits),
  })),
  {
    name: 'chat-ledger',
    about:
      'two bridges of one chat that can be asked, a text in two parts among others, three kills, two unknown outcomes',
    run: (limits) => {
      const options = { parts: [1, 2, 1], kills: 3, unknowns: 2, asked: true };
      return explore(ledgerScope('chat-ledger', options), limits);
    },
  },
  {
    name: 'chat-ledger-unasked',
    about: 'the same where the chat reports nothing, two kills: repeats are marked',
    run: (limits) => {
      const options = { parts: [1, 2, 1], kills: 2, unknowns: 1, asked: false };
      return explore(ledgerScope('chat-ledger-unasked', options), limits);
    },
  },
];
