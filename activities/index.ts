import { log } from '@temporalio/activity';
import type { EffectInput, SynodActivities } from '../src/envelope/activities.ts';
import { createPublisher } from './publish.ts';
import { synodSend } from './send.ts';

/** What Synod asks of its users. Each runs at least once and, after a crash, perhaps again: always with the same `key`. */
export interface UserActivities {
  /**
   * Something needs attention: a task has failed for good. Throwing lets it be tried again, for ever; the task does not wait.
   * Default: a warning in the worker's log.
   */
  readonly onEscalation?: (escalation: EffectInput) => Promise<void>;
  /**
   * A lock was lost, by expiry or by force: undo what its holder may have left half done. `input` is the lock: `lock_id`,
   * `holder`, `lock_type`, `resources` and the old `tokens`. The next grant of these resources waits for it, at most
   * `config.rollback_seconds` (10). Throwing lets it be tried again, 15 times in all over some five minutes; then the room
   * is told by `lock.escalated`. It may come after the next grant: write with the old token, and a resource that checks
   * tokens refuses what comes too late. Default: nothing is undone.
   */
  readonly onLockExpired?: (lock: EffectInput) => Promise<void>;
}

/** The activities of a worker. */
export function createActivities(users: UserActivities = {}): SynodActivities {
  return {
    ...createPublisher(),
    synodSend,
    synodEscalate: users.onEscalation ?? warn,
    synodRollback: users.onLockExpired ?? (() => Promise.resolve()),
  };
}

async function warn({ key, source, input }: EffectInput): Promise<void> {
  log.warn('synod: escalated', { key, source, ...input });
}
