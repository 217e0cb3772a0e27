import { fromNames } from '../../envelope/byName.ts';
import { barrierMessages, MAX_ROSTER, type BarrierMessage, type BarrierOpen } from '../../envelope/barrier.ts';
import { toMilliseconds } from '../../envelope/fields.ts';
import { MAX_LISTED_NAMES, utf8Bytes } from '../../envelope/limits.ts';
import { refusal } from '../../envelope/refusal.ts';
import { rules, type Context, type Decided, type Decision, type Protocol } from '../protocol.ts';
import { answer, escalation, outcomeOf, since } from './answers.ts';
import { barrierState, placeOf, rosterSize, attendanceOf, type Barrier, type BarrierState } from './state.ts';
import { boardRowOf, detailsOf, viewOf } from './view.ts';

type Of<Type extends BarrierMessage['type']> = Extract<BarrierMessage, { type: Type }>;

/** JSON around a member's id and its place, and a move with its comma, in bytes. */
const MEMBER_BYTES = 8;
const MOVE_BYTES = 6;
const OTHER_BYTES = 512;

/** Source of the rules: "Group Coordination Among Autonomous Agents", barriers, and the wire contract's table. */
export const barrier: Protocol<BarrierState, BarrierMessage> = {
  workflowType: 'barrier',
  kind: 'barrier',
  area: 'barrier',
  nameField: 'phase',
  opening: 'barrier.open',
  messages: rules<BarrierMessage>(barrierMessages, ['barrier.resolve']),
  config: {},
  state: barrierState,
  urgent: new Set(['barrier.released', 'barrier.escalated', 'barrier.failed']),

  initial: () => ({ members: {}, complete: false, moves: [], escalations: 0, since: 0 }),

  size({ barrier: opened, members, moves }) {
    // Agent ids are ASCII.
    const ids = Object.keys(members).reduce((sum, agent) => sum + agent.length + MEMBER_BYTES, 0);
    return ids + moves.length * MOVE_BYTES + utf8Bytes(JSON.stringify(opened ?? null)) + OTHER_BYTES;
  },

  decide(state, input, context) {
    switch (input.kind) {
      case 'message':
        return input.message.type === 'barrier.open'
          ? open(input.message, context)
          : onMessage(state, input.message, context);
      case 'deadline':
        return onDeadline(state, context);
      default:
        return { state };
    }
  },

  answer,
  since,

  nextDeadline({ deadline, ended }) {
    return deadline === undefined || ended ? null : { at: deadline, summary: 'all members must be in' };
  },

  view: viewOf,
  details: detailsOf,
  row: boardRowOf,
  outcome: outcomeOf,

  involves(state, agent) {
    if (state.ended || !state.barrier) return false;
    const place = placeOf(state, agent);
    return state.barrier.opener === agent || (place !== undefined && !hasLeft(state, place));
  },
};

function open(message: BarrierOpen, { now }: Context): Decision<BarrierState> {
  const { phase, fallback, quorum, roster, more } = message;
  const timeoutMs = toMilliseconds(message.timeout_seconds);
  const opened: Barrier = {
    phase,
    opener: message.from,
    fallback,
    ...(quorum === undefined ? {} : { quorum }),
    timeout_ms: timeoutMs,
    opened_at: now,
  };
  return {
    state: {
      barrier: opened,
      members: withMembers({}, roster),
      complete: !more,
      moves: [],
      deadline: now + timeoutMs,
      escalations: 0,
      since: now,
    },
    verdict: ['roster', 0, roster.length, null],
    note: rosterNote(roster),
    pin: true,
  };
}

function withMembers(members: BarrierState['members'], roster: readonly string[]): BarrierState['members'] {
  const known = Object.keys(members).length;
  return { ...members, ...fromNames(roster.map((agent, i) => [agent, known + i])) };
}

/** A long roster is logged as its number. */
function rosterNote(roster: readonly string[]): NonNullable<Decided<BarrierState>['note']> {
  return roster.length > MAX_LISTED_NAMES ? { roster: undefined, roster_count: roster.length } : {};
}

function hasLeft({ moves }: BarrierState, place: number): boolean {
  return moves.includes(-1 - place);
}

function onMessage(
  state: BarrierState,
  message: Exclude<BarrierMessage, BarrierOpen>,
  context: Context,
): Decision<BarrierState> {
  const { barrier: opened, ended } = state;
  if (!opened) return { refuse: refusal('closed', `phase ${message.phase} was never opened`) };
  if (ended) return { refuse: refusal('closed', `phase ${message.phase} was ${ended}`) };
  switch (message.type) {
    case 'barrier.roster':
      return extendRoster(state, opened, message, context);
    case 'barrier.resolve':
      return resolve(state, opened, message, context);
    default:
      return move(state, message, context);
  }
}

function extendRoster(
  state: BarrierState,
  { opener, phase, quorum }: Barrier,
  { from, roster, more }: Of<'barrier.roster'>,
  context: Context,
): Decision<BarrierState> {
  if (from !== opener)
    return { refuse: refusal('unauthorized', `only ${opener}, who opened phase ${phase}, may add to its roster`) };
  if (state.complete) return { refuse: refusal('closed', `the roster of phase ${phase} is complete`) };
  const twice = roster.find((agent) => placeOf(state, agent) !== undefined);
  if (twice !== undefined) return { refuse: refusal('invalid_envelope', `roster holds ${twice} a second time`) };
  const total = rosterSize(state) + roster.length;
  if (total > MAX_ROSTER)
    return { refuse: refusal('invalid_envelope', `roster must hold at most ${MAX_ROSTER} names in all its parts`) };
  if (!more && quorum !== undefined && quorum > total) {
    const reason = `quorum ${quorum} must be at most the number of the roster, and this last part makes it ${total}`;
    return { refuse: refusal('invalid_envelope', reason) };
  }
  const next = settled({ ...state, members: withMembers(state.members, roster), complete: !more }, context);
  return {
    state: next,
    verdict: ['roster', next.moves.length, total, next.ended ? 'ended' : null],
    note: rosterNote(roster),
    pin: true,
  };
}

/** Somebody comes or leaves; who does either again changes nothing. */
function move(
  state: BarrierState,
  { type, from, phase }: Of<'barrier.checkin' | 'barrier.leave'>,
  context: Context,
): Decision<BarrierState> {
  const place = placeOf(state, from);
  if (place === undefined) return { refuse: refusal('not_eligible', `${from} is no member of phase ${phase}`) };
  const comes = type === 'barrier.checkin';
  const left = hasLeft(state, place);
  if (comes && left) return { refuse: refusal('not_eligible', `${from} has left phase ${phase}`) };
  const again = comes ? state.moves.includes(place) : left;
  const next = again ? state : settled({ ...state, moves: [...state.moves, comes ? place : -1 - place] }, context);
  const ended = next.ended ? 'ended' : null;
  return {
    state: next,
    verdict: [comes ? 'waiting' : 'left', next.moves.length, rosterSize(next), ended],
    ...(again ? { quiet: true } : { pin: true }),
  };
}

/** Ends the barrier where nobody is missing: released for those who are in, or failed where all have left. */
function settled(state: BarrierState, { now }: Context): BarrierState {
  if (!state.complete) return state;
  const { arrived, missing } = attendanceOf(state);
  if (missing.length > 0) return state;
  return ended(state, arrived.length > 0 ? 'released' : 'failed', now);
}

function ended(state: BarrierState, how: 'released' | 'failed', now: number): BarrierState {
  const { deadline: _, ...rest } = state;
  return { ...rest, since: now, ended: how };
}

function resolve(
  state: BarrierState,
  { phase, timeout_ms: timeoutMs }: Barrier,
  { action, extend_seconds: seconds }: Of<'barrier.resolve'>,
  { now }: Context,
): Decision<BarrierState> {
  if (action === 'extend') {
    const deadline = now + (seconds === undefined ? timeoutMs : toMilliseconds(seconds));
    // It counts from now where it was escalated, or it would be as old as its escalation.
    const since = state.deadline === undefined ? now : state.since;
    return { state: { ...state, deadline, since }, verdict: ['extended', deadline] };
  }
  if (action === 'proceed' && !state.complete) {
    const reason = `action must not be proceed before the last part of the roster of phase ${phase} has come`;
    return { refuse: refusal('invalid_envelope', reason) };
  }
  return {
    state: ended(state, action === 'proceed' ? 'released' : 'failed', now),
    verdict: ['resolved'],
    pin: true,
  };
}

/** Time has run out: each time, also that of an extension, the fallback decides what follows. */
function onDeadline(state: BarrierState, { now }: Context): Decision<BarrierState> {
  const { barrier: opened, deadline, complete } = state;
  if (!opened || state.ended || deadline === undefined || deadline > now) return { state };
  const attendance = attendanceOf(state);
  const enough = complete && opened.quorum !== undefined && attendance.arrived.length >= opened.quorum;
  if (opened.fallback === 'fail' || (opened.fallback === 'proceed' && enough)) {
    const next = ended(state, enough ? 'released' : 'failed', now);
    const outcome = outcomeOf(next);
    return { state: next, emit: outcome ? [outcome] : [] };
  }
  const { deadline: _, ...rest } = state;
  const escalated = escalation(opened.phase, attendance);
  return {
    state: { ...rest, since: now, escalations: state.escalations + 1 },
    emit: [escalated],
    effects: [{ name: 'escalate', input: escalated }],
  };
}
