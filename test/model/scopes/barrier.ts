import type { BarrierProtocol } from '../../../src/protocols/barrier/broken.fixture.ts';
import { barrier } from '../../../src/protocols/barrier/protocol.ts';
import { observer } from '../../../src/protocols/barrier/observer.fixture.ts';
import { observedScope, type Raw } from './observed.ts';

const TICK_MS = 1_000;

/** A roster of three, the last of them in a second part: all may come, come again and leave, and an operator resolves. */
export function barrierScope(
  name: string,
  sent: number,
  fallback: 'proceed' | 'escalate' | 'fail',
  protocol: BarrierProtocol = barrier,
) {
  const about = { ts: '', phase: 'b' };
  const message = (from: string, verb: string, id = verb): Raw => ({ type: `barrier.${verb}`, id, from, ...about });
  const resolve = (action: string): Raw => ({ ...message('operator:jo', 'resolve', action), action });
  return observedScope(name, {
    protocol,
    workflowId: 'synod:lab:barrier:b',
    observer,
    opening: {
      ...message('ann', 'open'),
      roster: ['bob', 'cleo'],
      more: true,
      fallback,
      ...(fallback === 'proceed' ? { quorum: 2 } : {}),
      timeout_seconds: (2 * TICK_MS) / 1000,
    },
    messages: [
      { ...message('ann', 'roster'), roster: ['dan'] },
      { ...message('zed', 'roster'), roster: ['dan'] },
      ...['bob', 'cleo', 'dan'].flatMap((from) => [
        message(from, 'checkin'),
        message(from, 'checkin', 'checkin2'),
        message(from, 'leave'),
      ]),
      message('zed', 'checkin'),
      ...['extend', 'proceed', 'fail'].map(resolve),
    ],
    sent,
    tickMs: TICK_MS,
    lastsMs: 3 * TICK_MS,
    alike: ['bob', 'cleo'],
    parts: ({ members, moves, complete, deadline, escalations, ended }, now) => {
      const names = Object.keys(members);
      return {
        known: names.length,
        moves: moves.map((move) => (move >= 0 ? (names[move] ?? '') : `-${names[-1 - move] ?? ''}`)),
        complete,
        left: deadline === undefined ? null : Math.max(-1, deadline - now),
        escalations,
        ended: ended ?? null,
      };
    },
  });
}
