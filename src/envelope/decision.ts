import type { z } from 'zod';
import { message } from './envelope.ts';
import { agentId, distinct, name, seconds, text, whole } from './fields.ts';

const MAX_OPTIONS = 32;
const MAX_VOTERS = 256;
const DEFAULT_OPTIONS = ['yes', 'no'];

/** Messages to a quorum decision, `synod:{room}:proposal:{proposal_id}`. Durations in seconds. */
export const decisionMessages = {
  /** Opens the vote; its sender is the proposer, and its voters are all who may ever vote. */
  'decision.propose': message('decision.propose', {
    proposal_id: name,
    question: text.min(1, 'must not be empty'),
    options: distinct(name, 2, MAX_OPTIONS).default(() => [...DEFAULT_OPTIONS]),
    voters: distinct(agentId, 1, MAX_VOTERS),
    quorum: whole(1),
    deadline_seconds: seconds(),
  }).refine(({ voters, quorum }) => quorum <= voters.length, {
    path: ['quorum'],
    error: 'must be at most the number of voters',
  }),
  'decision.vote': message('decision.vote', { proposal_id: name, choice: name, reason: text.optional() }),
  'decision.withdraw': message('decision.withdraw', { proposal_id: name, reason: text.optional() }),
};

export type DecisionMessage = z.infer<(typeof decisionMessages)[keyof typeof decisionMessages]>;
export type DecisionPropose = z.infer<(typeof decisionMessages)['decision.propose']>;
export type DecisionVote = z.infer<(typeof decisionMessages)['decision.vote']>;
