import { lockConfig, lockMessages, type LockMessage } from '../../envelope/lock.ts';
import type { Context, Decision, Protocol } from '../protocol.ts';
import { rules } from '../protocol.ts';
import { answer, since } from './answers.ts';
import { onDeadline, onEffect, resumed } from './expiry.ts';
import { moreByConfig, settle } from './grants.ts';
import { cancel, forceRelease, release, renew } from './holding.ts';
import { pageOf } from './page.ts';
import { known, request } from './requests.ts';
import { misplaced, prefixOf } from './sharding.ts';
import { lockState, noLocks, type LockState } from './state.ts';
import { detailsOf, viewOf } from './view.ts';

const { permits, rollback_seconds: rollbackSeconds, shards } = lockConfig.shape;

/**
 * The locks of a room, or one shard of them. Source of the rules: "Multi-Agent Coordination in Enterprise Environments", rule 3
 * (lock types, time-outs, deadlock prevention) and rule 5.1 (priority, arrival, scope), and the wire contract's table.
 */
export const lockManager: Protocol<LockState, LockMessage> = {
  workflowType: 'lockManager',
  kind: 'locks',
  area: 'lock',
  messages: rules<LockMessage>(lockMessages, ['lock.force_release']),
  config: { permits: permits.unwrap(), rollback_seconds: rollbackSeconds.unwrap(), shards: shards.unwrap() },
  fixedConfig: new Set(['shards']),
  state: lockState,
  sharded: true,
  queryField: 'locks',
  urgent: {
    // A grant names its request where it comes after a wait.
    has: (type, envelope) =>
      type === 'lock.expired' || type === 'lock.escalated' || (type === 'lock.granted' && 'request' in envelope),
  },

  initial: () => noLocks,
  size: (state) => state.size,

  decide(state, input, context) {
    switch (input.kind) {
      case 'message':
        return onMessage(state, input.message, context);
      case 'deadline':
        return onDeadline(state, context);
      case 'effect':
        return onEffect(state, input, context);
      case 'config':
        return settle(state, moreByConfig(context.config), context);
      default:
        return { state };
    }
  },

  known,
  answer,
  since,

  resumed,

  nextDeadline({ waits, ends }) {
    const at = Math.min(waits.first()?.[0].at ?? Infinity, ends.first()?.[0].at ?? Infinity);
    return at === Infinity ? null : { at, summary: 'a wait, a lease or a rollback ends', passing: true };
  },

  view: (state, query) => (query === undefined ? viewOf(state) : pageOf(state, query)),
  details: detailsOf,
  row: () => undefined,
  outcome: () => undefined,
  involves: (state, agent) => !state.of(agent).next().done,
};

function onMessage(before: LockState, message: LockMessage, context: Context): Decision<LockState> {
  const refuse = misplaced(message, context);
  if (refuse) return { refuse };
  const prefix = prefixOf(context);
  const state = before.prefix === prefix ? before : before.with({ prefix });
  switch (message.type) {
    case 'lock.request':
      return request(state, message, context);
    case 'lock.renew':
      return renew(state, message, context);
    case 'lock.release':
      return release(state, message, context);
    case 'lock.cancel':
      return cancel(state, message, context);
    case 'lock.force_release':
      return forceRelease(state, message, context);
  }
}
