import { log } from '@temporalio/activity';
import type { EffectInput, SynodActivities } from '../src/envelope/activities.ts';
import { createPublisher } from './publish.ts';

/** What Synod asks of its users. Each runs at least once and, after a crash, perhaps again: always with the same `key`. */
export interface UserActivities {
  /**
   * Something needs attention: a task has failed for good. Throwing lets it be tried again, for ever; the task does not wait.
   * Default: a warning in the worker's log.
   */
  readonly onEscalation?: (escalation: EffectInput) => Promise<void>;
}

/** The activities of a worker. */
export function createActivities(users: UserActivities = {}): SynodActivities {
  return {
    ...createPublisher(),
    synodEscalate: users.onEscalation ?? warn,
  };
}

async function warn({ key, source, input }: EffectInput): Promise<void> {
  log.warn('synod: escalated', { key, source, ...input });
}
