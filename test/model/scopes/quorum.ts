import { quorumProposal } from '../../../src/protocols/quorum/protocol.ts';
import type { DecisionProtocol } from '../../../src/protocols/quorum/broken.fixture.ts';
import { observer } from '../../../src/protocols/quorum/observer.fixture.ts';
import { observedScope, type Raw } from './observed.ts';

const VOTERS = ['bob', 'cleo', 'dan'];
const TICK_MS = 1_000;

/** Three voters with a quorum of two: each may vote for either option, and for one of them again under another key. */
export function quorumScope(name: string, sent: number, protocol: DecisionProtocol = quorumProposal) {
  const about = { ts: '', proposal_id: 'p' };
  const vote = (from: string, id: string, choice: string): Raw => ({
    type: 'decision.vote',
    id,
    from,
    ...about,
    choice,
  });
  return observedScope(name, {
    protocol,
    workflowId: 'synod:lab:proposal:p',
    observer,
    opening: {
      type: 'decision.propose',
      id: 'propose',
      from: 'ann',
      ...about,
      question: 'so?',
      voters: VOTERS,
      quorum: 2,
      deadline_seconds: (2 * TICK_MS) / 1000,
    },
    messages: [
      ...VOTERS.flatMap((from) => [vote(from, 'yes', 'yes'), vote(from, 'yes2', 'yes'), vote(from, 'no', 'no')]),
      vote('zed', 'yes', 'yes'),
      { type: 'decision.withdraw', id: 'withdraw', from: 'ann', ...about },
      { type: 'decision.withdraw', id: 'withdraw', from: 'zed', ...about },
    ],
    sent,
    tickMs: TICK_MS,
    lastsMs: 3 * TICK_MS,
    alike: VOTERS,
    parts: ({ proposal, votes, ended }, now) => ({
      votes: votes.map(([voter, choice]) => [proposal?.voters[voter] ?? '', choice]),
      left: Math.max(-1, (proposal?.deadline ?? now) - now),
      ended: ended ? { ...ended, at: 0 } : null,
    }),
  });
}
