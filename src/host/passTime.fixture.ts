import type { Deadline } from '../protocols/protocol.ts';

/** What time passes for. */
interface Ticking {
  nextDeadline(): Deadline | null;
  tick(now: number): void;
}

/** Time passes with a worker at work: each deadline is handled when it is due. */
export function passTime(host: Ticking, to: number): void {
  for (let due = host.nextDeadline(); due && due.at < to; due = host.nextDeadline()) host.tick(due.at);
  host.tick(to);
}
