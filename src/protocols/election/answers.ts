import type { CoordinatorMessage } from '../../envelope/coordinator.ts';
import type { Outgoing, Verdict } from '../protocol.ts';
import type { ElectionState } from './state.ts';

/** The replies that a verdict stands for. Every verdict begins with its kind and the epoch in which it was given. */
export function answer(message: CoordinatorMessage, verdict: Verdict, { term }: ElectionState): readonly Outgoing[] {
  const to = message.from;
  const { role } = message;
  const [kind, issued, coordinator] = verdict;
  const epoch = Number(issued);
  const resigned: Outgoing = { type: 'coordinator.resigned', role, epoch, coordinator: to };
  const left: Outgoing = { type: 'coordinator.left', to, role };
  switch (kind) {
    case 'joined':
      return [
        {
          type: 'coordinator.joined',
          to,
          role,
          epoch,
          coordinator: String(coordinator),
          heartbeat_seconds: (term?.heartbeat_ms ?? 0) / 1000,
        },
      ];
    case 'alive':
      return [{ type: 'coordinator.alive', to, role, epoch }];
    case 'accepted':
      return [{ type: 'coordinator.accepted', to, role, epoch }];
    case 'resigned':
      return message.type === 'coordinator.leave' ? [resigned, left] : [resigned];
    case 'left':
      return [left];
    default:
      return [];
  }
}

/** What became of a message since it was answered: who leads now, or that nobody does. */
export function since(state: ElectionState, message: CoordinatorMessage, [kind, issued]: Verdict): readonly Outgoing[] {
  const { epoch, leader, gone, term } = state;
  // Who has left is not concerned any more.
  if (kind === 'left' || !term) return [];
  const about = { to: message.from, role: term.role, epoch };
  if (leader) {
    if (epoch === issued) return [];
    return [{ type: 'coordinator.elected', ...about, coordinator: leader.coordinator }];
  }
  // The first reply to whoever resigned has that already.
  if (!gone || (kind === 'resigned' && epoch === issued)) return [];
  return [{ ...gone, ...about }];
}
