/** For your own workflows: what a group of agents does for them. Safe in the sandbox; nothing here is of Node. */
import '../../workflows/preload.ts';

export { openBarrier, type BarrierOptions, type BarrierOutcome, type OpenedBarrier } from './barrier.ts';
export { decide, type DecisionOutcome, type ProposalOptions } from './decide.ts';
export { LockDenied, LockLost } from './errors.ts';
export { withLock, withPermit, type Lock, type LockOptions, type Permit, type PermitOptions } from './lock.ts';
export type { Opened } from './opening.ts';
export type { SenderOptions } from './sender.ts';
export { announceTask, type AnnouncedTask, type TaskOptions, type TaskOutcome } from './task.ts';
export type { Json } from '../envelope/fields.ts';
export type { RefusalCode } from '../envelope/refusal.ts';
