import { putOff, type Absence } from '../protocol.ts';
import type { TaskState } from './state.ts';

/** After an absence a lease begins anew, and a claim window is put off. */
export function resumed(state: TaskState, absence: Absence): { readonly state: TaskState; readonly extended: number } {
  const { lease, claim, outcome } = state;
  if (outcome) return { state, extended: 0 };
  if (lease) {
    const until = Math.max(lease.expires_at, absence.now + lease.ms);
    if (until === lease.expires_at) return { state, extended: 0 };
    return { state: { ...state, lease: { ...lease, expires_at: until } }, extended: 1 };
  }
  const deadline = claim ? putOff(claim.deadline, claim.window, absence) : 0;
  if (!claim || deadline === claim.deadline) return { state, extended: 0 };
  return { state: { ...state, claim: { ...claim, deadline } }, extended: 1 };
}
