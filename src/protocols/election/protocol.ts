import { coordinatorMessages, type CoordinatorMessage } from '../../envelope/coordinator.ts';
import { toMilliseconds } from '../../envelope/fields.ts';
import { fitsBytes, MAX_ENVELOPE_BYTES } from '../../envelope/limits.ts';
import { refusal, type Refusal } from '../../envelope/refusal.ts';
import type { Context, Decided, Decision, Outgoing, Protocol } from '../protocol.ts';
import { rules } from '../protocol.ts';
import { answer, since } from './answers.ts';
import {
  active,
  activeUntil,
  electionState,
  withActive,
  isCandidate,
  sizeOf,
  without,
  type Candidates,
  type ElectionState,
  type Term,
} from './state.ts';
import { boardRowOf, detailsOf, viewOf } from './view.ts';

type Message<Verb extends string> = Extract<CoordinatorMessage, { type: `coordinator.${Verb}` }>;
type Leader = NonNullable<ElectionState['leader']>;

/** Source of the rules: "Group Coordination Among Autonomous Agents", the coordinator pattern, and the wire contract's table. */
export const coordinatorElection: Protocol<ElectionState, CoordinatorMessage> = {
  workflowType: 'coordinatorElection',
  kind: 'coordinator',
  area: 'coordinator',
  nameField: 'role',
  messages: rules<CoordinatorMessage>(coordinatorMessages),
  config: {},
  state: electionState,
  urgent: new Set(['coordinator.elected', 'coordinator.lost', 'coordinator.resigned']),

  size: sizeOf,

  initial: () => ({ epoch: 0, since: 0, candidates: [] }),

  decide(state, input, context) {
    switch (input.kind) {
      case 'message':
        return onMessage(state, input.message, context);
      case 'deadline':
        return onDeadline(state, context);
      default:
        return { state };
    }
  },

  answer,
  since,

  nextDeadline({ term, leader, epoch }) {
    if (!term || !leader) return null;
    return { at: activeUntil(leader.heard_at, term), summary: `heartbeat of ${leader.coordinator}, epoch ${epoch}` };
  },

  resumed(state, { now, ms }) {
    const { term, leader, candidates } = state;
    // Who had lapsed before it stays so; whoever leads stands, too.
    if (!term || !leader) return { state, extended: 0 };
    const since = now - ms;
    const kept = candidates.map(([id, at]): Candidates[number] => [id, activeUntil(at, term) >= since ? now : at]);
    return {
      state: { ...state, leader: { ...leader, heard_at: now }, candidates: kept },
      extended: kept.filter(([, at]) => at === now).length,
    };
  },

  view: viewOf,
  details: detailsOf,
  row: boardRowOf,
  outcome: () => undefined,
  involves: isCandidate,
};

function onMessage(state: ElectionState, message: CoordinatorMessage, { now }: Context): Decision<ElectionState> {
  switch (message.type) {
    case 'coordinator.join':
      return join(state, message, now);
    case 'coordinator.leave':
      return leave(state, message, now);
    default: {
      const leader = leaderBy(state, message);
      if ('code' in leader) return { refuse: leader };
      return byLeader(state, leader, message, now);
    }
  }
}

function join(state: ElectionState, message: Message<'join'>, now: number): Decided<ElectionState> {
  const term = state.term ?? { role: message.role, heartbeat_ms: toMilliseconds(message.heartbeat_seconds) };
  const candidates = active(state.candidates, term, now);
  const known = isCandidate({ ...state, candidates }, message.from);
  const joined = { ...state, term, candidates: withActive(candidates, message.from, now) };
  const { state: next, emit } = state.leader ? { state: joined, emit: [] } : elect(joined, term, now);
  return {
    state: next,
    // With a candidate there is a coordinator.
    verdict: ['joined', next.epoch, next.leader?.coordinator ?? null],
    quiet: known,
    emit,
  };
}

function leave(state: ElectionState, { from }: Message<'leave'>, now: number): Decision<ElectionState> {
  if (state.leader?.coordinator === from) return resign(state, from, now);
  if (!isCandidate(state, from)) {
    return {
      refuse: refusal('not_eligible', `${from} is no candidate: it has never joined, has left, or has lapsed`),
    };
  }
  return {
    state: { ...state, candidates: without(state.candidates, from) },
    verdict: ['left', state.epoch],
  };
}

/** Who leads, where the message is of its epoch and from it; or why it is refused. */
function leaderBy(
  { epoch, leader }: ElectionState,
  message: Message<'heartbeat' | 'directive' | 'resign'>,
): Leader | Refusal {
  if (message.epoch < epoch)
    return refusal(
      'stale_epoch',
      `epoch ${message.epoch} is over; ${leader?.coordinator ?? 'nobody'} leads, epoch ${epoch}`,
    );
  if (message.epoch > epoch)
    return refusal('invalid_envelope', `epoch ${message.epoch} was never issued; the latest is ${epoch}`);
  if (leader?.coordinator !== message.from)
    return refusal('not_holder', leader ? `${leader.coordinator} leads epoch ${epoch}` : 'the role is vacant');
  return leader;
}

function byLeader(
  state: ElectionState,
  leader: Leader,
  message: Message<'heartbeat' | 'directive' | 'resign'>,
  now: number,
): Decision<ElectionState> {
  switch (message.type) {
    case 'coordinator.heartbeat':
      return {
        state: {
          ...state,
          leader: { ...leader, heard_at: now },
          candidates: withActive(state.candidates, leader.coordinator, now),
        },
        verdict: ['alive', state.epoch],
        quiet: true,
      };
    case 'coordinator.directive': {
      const logged = JSON.stringify({ ...message, seq: Number.MAX_SAFE_INTEGER });
      if (!fitsBytes(logged, MAX_ENVELOPE_BYTES))
        return { refuse: refusal('over_limit', 'directive is too large to be logged whole') };
      return { state, verdict: ['accepted', state.epoch] };
    }
    case 'coordinator.resign':
      return resign(state, leader.coordinator, now);
  }
}

/** The coordinator goes by itself; the next one is elected without it. */
function resign(state: ElectionState, coordinator: string, now: number): Decided<ElectionState> {
  const candidates = without(state.candidates, coordinator);
  return {
    ...succeed(state, candidates, { type: 'coordinator.resigned', coordinator }, now),
    verdict: ['resigned', state.epoch],
  };
}

function onDeadline(state: ElectionState, { now }: Context): Decision<ElectionState> {
  const { term, leader } = state;
  if (!term || !leader || activeUntil(leader.heard_at, term) > now) return { state };
  const { coordinator } = leader;
  const { state: next, emit } = succeed(state, state.candidates, { type: 'coordinator.lost', coordinator }, now);
  const lost: Outgoing = { type: 'coordinator.lost', role: term.role, epoch: state.epoch, coordinator };
  return { state: next, emit: [lost, ...emit] };
}

interface Elected {
  readonly state: ElectionState;
  readonly emit: readonly Outgoing[];
}

/** Elects the next coordinator in the place of one that is gone. */
function succeed(
  { term, epoch }: ElectionState,
  candidates: Candidates,
  gone: NonNullable<ElectionState['gone']>,
  now: number,
): Elected {
  const vacant = { epoch, since: now, candidates, gone };
  return term ? elect({ ...vacant, term }, term, now) : { state: vacant, emit: [] };
}

/** The lowest id of those that are active leads, in the next epoch; where nobody is, the role stays vacant. */
function elect({ gone, ...state }: Omit<ElectionState, 'leader'>, term: Term, now: number): Elected {
  const candidates = active(state.candidates, term, now);
  const [winner] = candidates;
  if (!winner) return { state: { ...state, candidates, ...(gone ? { gone } : {}) }, emit: [] };
  const [coordinator] = winner;
  const epoch = state.epoch + 1;
  return {
    state: {
      ...state,
      epoch,
      since: now,
      leader: { coordinator, heard_at: now },
      // To be elected counts as being active: the coordinator is a candidate for as long as it leads.
      candidates: withActive(candidates, coordinator, now),
    },
    emit: [{ type: 'coordinator.elected', role: term.role, coordinator, epoch }],
  };
}
