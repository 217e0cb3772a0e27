import { log } from '@temporalio/activity';
import type { SynodActivities } from '../src/envelope/activities.ts';
import { createPublisher } from './publish.ts';

/** The activities of a worker. Without one of the user's, an escalation is a warning in the worker's log. */
export function createActivities(): SynodActivities {
  return {
    ...createPublisher(),
    async synodEscalate({ key, source, input }) {
      log.warn('synod: escalated', { key, source, ...input });
    },
  };
}
