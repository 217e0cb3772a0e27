import type { BarrierMessage } from '../../envelope/barrier.ts';
import { ProtocolDrive, type Fields } from '../drive.fixture.ts';
import { barrier } from './protocol.ts';
import type { BarrierState } from './state.ts';

export type BarrierDrive = ProtocolDrive<BarrierState, BarrierMessage>;

/** A barrier `b` that nobody has opened. */
export function unopened(): BarrierDrive {
  return new ProtocolDrive(barrier, 'synod:lab:barrier:b', { phase: 'b' });
}

/** A barrier `b` of ann's for three members, escalated after a minute. */
export function opened(more: Fields = {}): BarrierDrive {
  const drive = unopened();
  drive.say('ann', 'open', { roster: ['bob', 'cleo', 'dan'], timeout_seconds: 60, fallback: 'escalate', ...more });
  drive.events();
  return drive;
}

/** Members with the longest ids there are. */
export function longest(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${i}`.padEnd(128, 'm'));
}
