/** The agents' side of Synod: everything that an agent in TypeScript needs, beside a Temporal server. */
export { Agent, type AgentOptions, type Announced, type Introduction, type ListenOptions } from './agent.ts';
export type { BarrierOptions, BarrierResult } from './barriers/barrier.ts';
export { Rounds, type RoundResult, type RoundsOptions } from './barriers/rounds.ts';
export type { BoardQuery } from './messages/board.ts';
export type { YieldHint } from './tasks/breakRoom.ts';
export type { OnRetry } from './connection/channel.ts';
export { connect, disconnect, type ConnectOptions } from './connect.ts';
export type { CoordinateOptions, Directive, DirectiveOptions, Leadership } from './elections/coordinate.ts';
export type { DecisionResult, ProposalOptions, Tally } from './decisions/decide.ts';
export { checkToken } from './leases/fence.ts';
export type { TaskOptions } from '../envelope/taskOptions.ts';
export { TaskFailure, type Handler, type Work, type WorkOptions, type WorkReport } from './tasks/handler.ts';
export { LeaseLost } from './leases/lease.ts';
export type { ConfiguredLocks, LockConfig } from './locks/configure.ts';
export { LockDenied, type Lock, type LockOptions } from './locks/lock.ts';
export { Room } from './room.ts';
export type { OnProposalOptions, Question, Vote, VoteHandler } from './decisions/vote.ts';
export { RECONNECT } from '../dev/connect.ts';
export { EVERYONE, type LogEvent } from '../envelope/calls.ts';
export type { Envelope } from '../envelope/envelope.ts';
export type { Json } from '../envelope/fields.ts';
export { SynodError, type RefusalCode } from '../envelope/refusal.ts';
export type { BoardRow } from '../envelope/room.ts';
export { StateConflict, type StateEntry, type StateWritten } from './state/answers.ts';
export type {
  StateChange,
  StateStore,
  TransactionWrite,
  UpdateOptions,
  WatchOptions,
  WriteOptions,
} from './state/store.ts';
